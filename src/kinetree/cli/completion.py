"""What bash calls for a completion, in place of typer's.

Bash takes a colon and an equals sign for the end of a word: what was typed before them must neither be lost,
as PACKAGE:NAME and --set KEY=VALUE need it, nor be written twice. After a folder, a table of a study or a key
no space follows.
"""

from __future__ import annotations

import os
import sys

BASH = r"""
%(complete_func)s() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" words count mark cut=""
    local cur="${line##*[[:space:]]}"
    IFS=$' \t\n' read -r -a words <<< "$line"
    count=${#words[@]}
    [[ -n $cur ]] && count=$((count - 1))
    COMPREPLY=( $( env COMP_WORDS="$line" COMP_CWORD=$count %(autocomplete_var)s=complete_bash $1 ) )
    for mark in : =; do
        if [[ $COMP_WORDBREAKS == *$mark* && $cur == *$mark* ]]; then
            local before="${cur%%"${cur##*$mark}"}"
            (( ${#before} > ${#cut} )) && cut=$before
        fi
    done
    [[ -n $cut ]] && COMPREPLY=( "${COMPREPLY[@]#"$cut"}" )
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.=/:] ]] && compopt -o nospace
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


def prepare_completion(name: str = "_KINETREE_COMPLETE") -> None:
    """Let typer hand out or install this script where it is asked for one; elsewhere nothing is loaded."""
    asked = {"--install-completion", "--show-completion"} & {*sys.argv}
    if not asked and not os.environ.get(name, "").startswith("source"):
        return
    try:
        from typer import _completion_classes, _completion_shared

        _completion_shared._completion_scripts["bash"] = BASH
        _completion_classes.BashComplete.source_template = BASH
    except (ImportError, AttributeError, TypeError):  # another version of typer: its own script serves
        return
