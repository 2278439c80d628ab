"""Settings and classes of simulations, one step below the package: soils, triggers, stops, batches."""

from .batch import simulate_batch as simulate_batch
from .contact import ContactForces as ContactForces
from .contact import contact_forces as contact_forces
from .given import TorqueLaw as TorqueLaw
from .ground import Region as Region
from .ground import Soil as Soil
from .judge import Verdicts as Verdicts
from .live import LiveSimulation as LiveSimulation
from .settings import Settings as Settings
from .settings import Stops as Stops
from .settings import Trigger as Trigger
from .simulator import Rollout as Rollout
from .simulator import Simulator as Simulator
from .step_derivatives import StepDerivatives as StepDerivatives
from .step_derivatives import StepSlopes as StepSlopes
from .step_pairs import BodyPair as BodyPair
from .step_pairs import body_pairs as body_pairs
from .step_rollout import RolloutGradient as RolloutGradient
from .step_rollout import StepRollout as StepRollout
from .stepper import StepAudit as StepAudit
from .stepper import StepContact as StepContact
from .warned import AccuracyWarning as AccuracyWarning
from .warned import VerdictWarning as VerdictWarning
