"""Phases, refinements and answers of predictions, one step below the package."""

from .outcome.phased_prediction import PhasedPrediction as PhasedPrediction
from .outcome.prediction import Prediction as Prediction
from .phased import predict_phases as predict_phases
from .problem.instants import AddedSamples as AddedSamples
from .problem.instants import GaussSamples as GaussSamples
from .problem.phases import Junction as Junction
from .problem.phases import PhasedProblem as PhasedProblem
from .refinement import refine as refine
from .refinement import tighten as tighten
from .timing.outcome import FastestTiming as FastestTiming
