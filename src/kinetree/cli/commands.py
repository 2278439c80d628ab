"""The commands: where each is written, and the line that the help shows about it.

The command line reads only this table until a command is called, so that help and completion are quick. A
command is a function with ``@app.command()`` (or a group added to ``app``) in the named file of this room;
the first line of its docstring is the line given here.
"""

from __future__ import annotations

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Studies": {
        "new": ("new", "Create a mechanism or study file from a template."),
        "check": ("check", "Check mechanism and study files: every error and warning."),
        "run": ("run", "Run a study and save its result."),
        "sweep": ("sweep", "Run many cases of a study: grids, samples, starts, Pareto fronts."),
        "examples": ("examples", "List the example studies, or copy one."),
        "demo": ("demo", "Drive a gripper and let it fall; write a picture and a table."),
    },
    "Results": {
        "plot": ("results", "Draw a result over time into a picture file."),
        "report": ("report", "Write a result as a page with animation, curves and tables."),
        "compare": ("results", "Show how two results differ: a table, a picture or a page."),
        "validate": ("validate", "Compare a result with measured human gait or squats."),
        "show": ("show", "Show a mechanism or a result in the browser."),
        "export": ("export", "Export a result: table, movie, OpenSim files, mechanism."),
    },
    "Motion capture": {
        "scale": ("capture", "Scale a model to the person of a static trial."),
        "track": ("capture", "Find the motion of a model whose markers are nearest to measured ones."),
    },
    "Mechanisms": {
        "zoo": ("models", "List mechanisms that come with Kinetree or another package."),
        "info": ("models", "Show a mechanism (tree, joints, modules, mobility) or a result."),
        "draw": ("models", "Draw a mechanism into a picture file."),
        "convert": (
            "models",
            "Convert TOML, URDF, SDF, MJCF, .osim, .m and DH tables to TOML, URDF or MJCF.",
        ),
        "export-code": ("export_code", "Write C code of a mechanism's dynamics that needs no library."),
        "verify": ("verify", "Compare all formulations of dynamics on a mechanism."),
        "derivatives": ("verify", "Compare the exact derivatives with numerical ones."),
        "bench": ("verify", "Time every quantity of a mechanism on this machine."),
    },
    "The library": {
        "formulations": ("models", "Show the formulations of the equations of motion."),
        "schema": ("models", "Print the JSON schema of mechanism or study files."),
        "warmup": ("models", "Compile all algorithms now, so that later calls start at once."),
    },
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
