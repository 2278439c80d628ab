"""Names that would do harm on a page that takes them for markup."""

from dataclasses import replace

import kinetree as kt

HARMFUL = (
    "<img src=x onerror=\"window.harmed='html'\">",
    "<script>window.harmed='script'</script> {window.harmed='braces'} [a](javascript:window.harmed=1)",
)


def nasty():
    """The two-link arm with such names."""
    arm = kt.zoo.two_link()
    first, second = arm.links
    links = (
        replace(
            first, joint=replace(first.joint, name=HARMFUL[0]), body=replace(first.body, name=HARMFUL[0])
        ),
        replace(
            second,
            joint=replace(second.joint, name=HARMFUL[1]),
            body=replace(second.body, name=HARMFUL[1]),
            parent=HARMFUL[0],
        ),
    )
    return replace(arm, name=HARMFUL[0], links=links)
