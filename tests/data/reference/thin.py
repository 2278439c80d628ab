"""Makes the small excerpts in this folder from the full reference files: python thin.py FOLDER."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
DERIVATIVES = ("dtau_dq", "dtau_dqd")
SMALL_TREE = 12  # degrees of freedom up to which both states and their derivatives are kept
LEFT_OUT = ("tree12", "tree15", "tree17")


def every(step, record):
    """A sampled record with every step-th sample of each time series."""
    count = len(record["t"])
    return {
        key: value[::step] if isinstance(value, list) and len(value) == count else value
        for key, value in record.items()
    }


def random_trees(full):
    full["trees"] = [tree for tree in full["trees"] if tree["name"] not in LEFT_OUT]
    for tree in full["trees"]:
        if tree["model"]["ndof"] > SMALL_TREE:
            tree["states"] = [
                {key: value for key, value in state.items() if key not in DERIVATIVES}
                for state in tree["states"][-1:]
            ]
    return full


def with_trajectories(states, step):
    """Keeps the first states and every step-th sample of inverse dynamics, free fall and free flight."""

    def thinned(full):
        for part in full.get("variants", [full]):
            part["states"] = part["states"][:states]
            for key in ("inverse_dynamics", "free_fall", "free_flight"):
                if key in part:
                    record = part[key]
                    many = isinstance(record, list)
                    part[key] = [every(step, x) for x in record] if many else every(step, record)
        return full

    return thinned


def sampled_cases(step):
    """Keeps every step-th sample of each case."""

    def thinned(full):
        full["cases"] = [every(step, case) for case in full["cases"]]
        return full

    return thinned


def first_cases(count):
    def thinned(full):
        full["cases"] = full["cases"][:count]
        return full

    return thinned


def one_case_per(key):
    """Keeps the last case of each kind, as it carries a load where there are any."""

    def thinned(full):
        full["cases"] = list({case[key]: case for case in full["cases"]}.values())
        return full

    return thinned


def loaded_and_not(full):
    """One short spline without and one with gravity and load, two samples of each."""
    chosen = {case["params"]["f"]: case for case in full["cases"] if case["segments"] < 8}
    full["cases"] = [{**case, "samples": case["samples"][:2]} for case in chosen.values()]
    return full


def only_totals(full):
    """Durations and objectives without the curves."""
    return {
        **full,
        "cases": [{k: v for k, v in case.items() if not _is_curve(v)} for case in full["cases"]],
    }


def every_tenth(full):
    """Every 10th sample of each step and of both legs, without the misprinted height."""

    def thinned(case):
        if isinstance(case, list):
            return case[::10] if len(case) == 101 else case
        if isinstance(case, dict):
            return {key: thinned(value) for key, value in case.items() if key != "ankle_z_as_printed"}
        return case

    return {**full, "cases": [thinned(case) for case in full["cases"]]}


LOOP_KEYS = ("name", "model", "cuts", "independent", "actuated", "mobility", "constraint_rows", "rank")


def with_states(count, key="variants", mechanisms=None):
    """The first states of mechanisms with closed loops, start, middle and end of motions, some poses."""

    def some(motion):
        chosen = [0, len(motion["t"]) // 2, len(motion["t"]) - 1]
        kept = {
            name: [motion[name][k] for k in chosen]
            for name in ("t", "q", "qd", "qdd", "kinetic", "potential")
        }
        return {"simulation": kept | {"accuracy": motion["accuracy"]}}

    def thinned(full):
        found = [
            {name: one[name] for name in LOOP_KEYS if name in one}
            | {"states": one["states"][:count]}
            | (some(one["simulation"]) if "simulation" in one else {})
            | ({"law": one["law"]} if "law" in one else {})
            | ({"poses": every(4, one["poses"])} if "poses" in one else {})
            for one in full[key][:mechanisms]
        ]
        return {"schema": full["schema"], "variants": found}

    return thinned


def book_loops(full):
    """Some samples of the motions of the book's mechanisms with closed loops."""
    kept = ("name", "model", "cuts", "inverse_dynamics", "free_motion", "free_fall", "free_fall_from_rest")
    found = []
    for part in full.get("variants", [full]):
        one = {key: part[key] for key in kept if key in part}
        motion = {k: v for k, v in one["inverse_dynamics"].items() if isinstance(v, list)}
        one["inverse_dynamics"] = every(24, motion)
        for key in kept[4:]:
            if key in one:
                record = {k: v for k, v in one[key].items() if isinstance(v, list)}
                one[key] = every(50, record)
        found.append(one)
    return {"variants": found}


def benchmark_loops(step, left_out=()):
    """Some samples of a motion of a benchmark problem."""

    def thinned(full):
        full = {key: value for key, value in full.items() if key not in left_out}
        full["simulation"] = every(step, {k: v for k, v in full["simulation"].items() if isinstance(v, list)})
        return full

    return thinned


def shortest_ladder(full):
    (problem, *_) = full["problems"]
    solution = {k: v for k, v in problem["solution"].items() if isinstance(v, list)}
    return {"problems": [problem | {"solution": every(40, solution)}]}


def _is_curve(value):
    return isinstance(value, list) and (len(value) > 2 or isinstance(value[0], list))


RECIPES = {
    "random_trees": random_trees,
    "gripper": with_trajectories(4, 10),
    "kuka_kr5": with_trajectories(2, 10),
    "biped_fixed": with_trajectories(2, 10),
    "puma_slender": with_trajectories(4, 10),
    "floating_planar_biped": with_trajectories(2, 10),
    "floating_spatial_biped": with_trajectories(2, 20),
    "floating_quadruped": with_trajectories(2, 20),
    "floating_hexapod": with_trajectories(2, 20),
    "slides_twolink": first_cases(6),
    "twolink_rr": first_cases(12),
    "twolink_pr": first_cases(6),
    "chain_sensitivity": one_case_per("types"),
    "eaj": one_case_per("seq"),
    "bspline_chain_rule": loaded_and_not,
    "optimal_control": only_totals,
    "kuka_mintime": lambda full: full,
    "ipm_trajectories": every_tenth,
    "zmp": first_cases(3),
    "control": sampled_cases(10),
    "ground_model": lambda full: full,
    "slider_crank": with_states(2),
    "prismatic_cut": with_states(1),
    "spatial_fourbar": with_states(1),
    "five_bar": with_states(2),
    "jansen_leg": with_states(1),
    "six_bar": with_states(1),
    "other_cuts": with_states(1),
    "delta": with_states(1),
    "stewart": with_states(1),
    "floating_fourbar_legs": with_states(1),
    "random_loops": with_states(1, "mechanisms", 10),
    "fourbar": book_loops,
    "robotic_leg": book_loops,
    "rrr3": book_loops,
    "iftomm_a02_nfourbar": shortest_ladder,
    "iftomm_a03_andrews": benchmark_loops(10, ("params", "description")),
    "iftomm_a04_bricard": benchmark_loops(100),
}


def main(folder):
    for name, thinned in RECIPES.items():
        full = json.loads((Path(folder) / f"{name}.json").read_text())
        excerpt = {"excerpt_of": f"{name}.json", **thinned(full)}
        text = json.dumps(excerpt, separators=(",", ":"))
        (HERE / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1])
