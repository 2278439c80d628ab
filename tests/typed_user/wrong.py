"""Mistakes of users that a strict type checker finds: each line with a comment has one, of that kind."""

import kinetree as kt


def two_arguments(t: float, q: float) -> float:
    """Not a torque law."""
    return q


arm = kt.zoo.two_link()
kt.simulat(arm, [0.0, 0.0])  # [attr-defined]
kt.simulate(arm, [0.0, 0.0], metod="radau")  # [call-arg]
kt.simulate(arm, [0.0, 0.0], method="radu")  # [typeddict-item, arg-type]
kt.simulate(arm, [0.0, 0.0], rtol="small")  # [arg-type]
kt.simulate(arm, [0.0, 0.0], torque=two_arguments)  # [arg-type]
kt.simulate(arm, [0.0, 0.0], torque="large")  # [arg-type]
kt.simulate(arm, [0.0, 0.0], controller=42)  # [arg-type]
kt.simulate(arm, [0.0, 0.0], controller=kt.control.PD)  # [arg-type]
kt.simulate(arm, [0.0, 0.0], ground="hard")  # [arg-type]
kt.simulate("arm.urdf", [0.0, 0.0])  # [arg-type]
kt.simulation.Settings(rtoll=1e-6)  # [call-arg]
kt.simulation.Simulator(arm, settings={"rtol": 1e-6})  # [arg-type]
kt.inverse_dynamics(arm, [0.0, 0.0])  # [call-arg]
print(kt.inverse_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).shap)  # [attr-defined]
print(kt.Poses)  # [attr-defined]
print(kt.analysis.Poze)  # [attr-defined]
print(kt.control.StopSimulation)  # [attr-defined]
print(arm.n_dofs)  # [attr-defined]
number: int = kt.mass_matrix(arm, [0.0, 0.0])  # [assignment]
kt.Problem(arm, objective=kt.terms.Time)  # [arg-type]
kt.Problem(arm, objectiv=kt.terms.Time())  # [call-arg]
kt.terms.Boundary("begin", [0.0, 0.0])  # [arg-type]
kt.fastest_timing(arm, kt.trajectories.cycloid([0.0, 0.0], [1.0, 1.0], 1.0), smooth=0.04)  # [call-arg]
arm.with_payload("link2", "3 kg")  # [arg-type]
kt.Ground(frictions=0.5)  # [call-arg]
kt.Builder("m").world.revolute("hip", axsi="y")  # [call-arg]
kt.Builder("m").world.revolute("hip", origin=(0.0, 0.0, 1.0))  # [call-arg]
