"""xacro macros: nothing is executed, and plain files expand as the package xacro expands them."""

import contextlib
import io
import os
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xacro_file import expanded

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
YAML = (
    "limits:\n  pan: {lower: !degrees -90, upper: 1.5}\n  gear: [2, 3]\nname: tool\nfar: !millimeters 250\n"
)
OTHER = (
    '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="size" value="0.25"/>'
    '<xacro:property name="twice" value="${2 * size}"/>'
    '<xacro:macro name="disk" params="id r:=${size}"><link name="disk_${id}" r="${r}" t="${twice}"/>'
    "</xacro:macro></robot>"
)
PLAIN = {
    "numbers": '<a v="${1 + 2 * 3 - 4 / 5 + 2 ** 3 + 7 // 2 + 7 % 4}" w="${-pi / 2}" x="${radians(90)}"/>',
    "text": '<a v="x ${1}${2} y $${z} $$(w) 5$"/>',
    "functions": '<a v="${sin(pi/6)} ${math.sqrt(2)} ${max(1, 2.5)} ${round(2.567, 1)} ${len([1, 2])}"/>',
    "python": '<a v="${python.abs(-3)} ${python.sum([1, 2])} ${sorted([3, 1])} ${list(range(3))}"/>',
    "compare": '<a v="${1 == 1.0} ${2 &lt; 3 &lt; 4} ${not 1 or 0} ${3 in [1, 3]} ${5 if 0 else 6}"/>',
    "strings": "<a v=\"${'ab' + 'c'} ${'abc'[1]} ${'a,b'.split(',')[1]} "
    "${'x'.upper()} ${'%05.2f' % 3.14159}\"/>",
    "comprehension": '<a v="${[2 * x for x in [1, 2, 3] if x != 2]}"/>',
    "dictionary": "<xacro:property name='d' value=\"${dict(a=1, b=[2, 3])}\"/><a v=\"${d['b'][1]} ${d}\"/>",
    "literal types": '<xacro:property name="p" value="3"/><xacro:property name="q" value="true"/>'
    "<xacro:property name=\"s\" value=\"'7'\"/><xacro:property name='u' value='1_0'/>"
    '<a v="${p * 2} ${q} ${s * 2} ${u}"/>',
    "lazy": '<xacro:property name="b" value="${a + 1}"/><xacro:property name="a" value="2"/><a v="${b}"/>',
    "greedy": '<xacro:property name="a" value="1"/><xacro:property name="b" value="${a}" lazy_eval="false"/>'
    '<xacro:property name="a" value="5"/><a v="${b} ${a}"/>',
    "default property": '<xacro:property name="a" value="1"/><xacro:property name="a" default="2"/>'
    '<xacro:property name="b" default="3"/><a v="${a} ${b}"/>',
    "removed property": '<xacro:property name="pi" value="3"/><xacro:property name="pi" remove="true"/>'
    '<a v="${pi}"/>',
    "conditions": '<xacro:property name="on" value="true"/><xacro:if value="${on}"><a/></xacro:if>'
    '<xacro:unless value="${on}"><b/></xacro:unless><xacro:if value="0"><c/></xacro:if>'
    '<xacro:if value="${1 > 0 and on}"><d/></xacro:if>',
    "arguments": '<xacro:arg name="n" default="ur"/><xacro:arg name="m" default="${1 + 1}"/>'
    '<xacro:property name="p" value="$(arg n)_x"/><a v="$(arg n) ${$(arg m) * 2} ${p} $(eval m * 3)"/>',
    "macro": '<xacro:macro name="m" params="a b:=2 c:=${1 + 2} d:=\'x y\'"><l v="${a} ${b} ${c} ${d}"/>'
    '</xacro:macro><xacro:m a="1"/><xacro:m a="${4}" b="z" d=""/>',
    "forward": '<xacro:property name="a" value="7"/><xacro:macro name="m" params="a:=^ b:=^|8">'
    '<l v="${a} ${b}"/>'
    '</xacro:macro><xacro:m/><xacro:m a="1" b="2"/>',
    "blocks": '<xacro:macro name="m" params="n *o **i"><l name="${n}"><xacro:insert_block name="o"/>'
    '<xacro:insert_block name="i"/></l></xacro:macro><xacro:property name="k" value="3"/>'
    '<xacro:m n="x"><origin xyz="${k} 0 0"/><in><mass value="${k}"/>text<b/></in></xacro:m>',
    "block property": '<xacro:property name="b"><u v="${1 + 1}"/><w/></xacro:property>'
    '<a><xacro:insert_block name="b"/></a>',
    "recursion": '<xacro:macro name="m" params="n"><l n="${n}"/><xacro:if value="${n > 0}">'
    '<xacro:m n="${n - 1}"/>'
    '</xacro:if></xacro:macro><xacro:m n="20"/>',
    "scopes": '<xacro:macro name="m" params="x"><xacro:property name="p" value="${x}" scope="parent"/>'
    '<xacro:property name="g" value="${2 * x}" scope="global"/><xacro:property name="x" value="9"/>'
    '</xacro:macro>'
    '<xacro:macro name="o" params=""><xacro:m x="1"/><l v="${p}"/></xacro:macro><xacro:o/><l v="${g}"/>',
    "macro in macro": '<xacro:macro name="o" params="a"><xacro:macro name="i" params="b"><l v="${a}${b}"/>'
    '</xacro:macro><xacro:i b="${a + 1}"/></xacro:macro><xacro:o a="1"/>',
    "call": '<xacro:macro name="m" params="a"><l v="${a}"/></xacro:macro><xacro:property name="n" value="m"/>'
    '<xacro:call macro="${n}" a="2"/>',
    "element and attribute": '<xacro:element xacro:name="${\'a\' + \'b\'}" v="1"><c/></xacro:element>'
    '<d><xacro:attribute name="e" value="k${3}"/><f/></d>',
    "include": '<xacro:include filename="parts/other.xacro"/><xacro:disk id="1"/><xacro:disk id="2" r="1"/>',
    "namespace": '<xacro:property name="size" value="5"/><xacro:include filename="parts/other.xacro" ns="o"/>'
    '<xacro:o.disk id="1"/><a v="${o.size} ${size} ${o.twice}"/>',
    "optional include": '<xacro:include filename="missing.xacro" optional="true"/><a/>',
    "several files": '<xacro:include filename="parts/*.xacro"/><xacro:disk id="1"/>',
    "found package": '<xacro:include filename="$(find parts)/other.xacro"/><xacro:disk id="1"/>',
    "yaml": "<xacro:property name='y' value=\"${xacro.load_yaml('parts/p.yaml')}\"/>"
    "<a v=\"${y['limits']['pan']['lower']} ${y.limits.pan.upper} ${y['limits']['gear'][1]} "
    "${y.name} ${y.far}\"/>",
    "content": '<a>1 ${1 + 1} <xacro:if value="1">three</xacro:if> 4</a>',
    "tokens": "<a v=\"${xacro.tokenize('a b;c')}\"/>",
    "mapped": "<a v=\"${list(map(float, '1 2'.split()))}\"/>",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "package.xml").write_text("<package/>")
    (parts / "other.xacro").write_text(OTHER)
    (parts / "p.yaml").write_text(YAML)
    return tmp_path


def written(folder, body):
    file = folder / "top.xacro"
    file.write_text(f"{HEAD}{body}</robot>")
    return file


def plain(element):
    return (element.tag, element.attributes, element.content, [plain(x) for x in element.children])


def own(file, **arguments):
    found, _ = expanded(file, MeshFolder.around(file, None), arguments, PassedOver(str(file)))
    return plain(found)


def of_package(file, xacro, **arguments):
    """The same tree as the package xacro makes it."""
    from xacro import substitution_args

    def parsed(element):
        text = (element.text or "") + "".join(x.tail or "" for x in element)
        return (element.tag, dict(element.attrib), text.strip(), [parsed(x) for x in element])

    substitution_args._eval_find = lambda name: str(file.parent / name)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return parsed(ElementTree.fromstring(xacro.process_file(str(file), mappings=dict(arguments)).toxml()))


@pytest.mark.peers
@pytest.mark.parametrize("feature", PLAIN)
def test_files_expand_as_with_the_package(folder, feature):
    xacro = pytest.importorskip("xacro")
    file = written(folder, PLAIN[feature])
    assert own(file) == of_package(file, xacro)


def test_values_by_hand(folder):
    """Without the package: what some expansions must be."""
    for feature, expected in (
        (
            "numbers",
            {"v": repr(1 + 6 - 0.8 + 8 + 3 + 3), "w": "-1.5707963267948966", "x": "1.5707963267948966"},
        ),
        ("literal types", {"v": "6 True 14 1_0"}),
        ("lazy", {"v": "3"}),
        ("yaml", {"v": "-1.5707963267948966 1.5 3 tool 0.25"}),
    ):
        *_, (element,) = own(written(folder, PLAIN[feature]))
        assert element[1] == expected


SYSTEM = "[c for c in x.__class__.__base__.__subclasses__() if c.__name__=='_wrap_close'][0]"
HOSTILE = {
    "subclasses": f"${{[{SYSTEM}.__init__.__globals__['system']('touch canary') for x in [()]][0]}}",
    "import": "${__import__('os').system('touch canary')}",
    "builtins": "${__builtins__['open']('canary', 'w')}",
    "open": "${open('canary', 'w')}",
    "eval": "${eval('1')}",
    "function parts": "${len.call.__globals__}",
    "method of a function": "${math.sqrt.call(4)}",
    "class": "${''.__class__}",
    "format": "${'{0.__class__}'.format(1)}",
    "lambda": "${(lambda f: f(f))(lambda f: f(f))}",
    "eval command": "$(eval ().__class__)",
    "type": "${python.type(1)}",
    "vars": "${python.vars()}",
    "power": "${9**9**9**9}",
    "shift": "${1 << 10**10}",
    "long text": "${'x' * 10**10}",
    "long list": "${[0] * 10**10}",
    "rounded": "${round(5, -10**9)}",
    "factorial": "${math.factorial(10**8)}",
    "wide": "${'%999999999d' % 1}",
    "range": "${[x for x in range(10**12)]}",
    "loops": "${[x for x in range(9999) for y in range(9999)]}",
    "deep": "${" + "(" * 5000 + "1" + ")" * 5000 + "}",
    "unary": "${" + "-" * 15000 + "1}",
    "long": "${" + "1+" * 50_000 + "1}",
    "file outside": "${xacro.load_yaml('/etc/passwd')}",
    "file above": "${xacro.load_yaml('../../../../etc/hostname')}",
    "folder of a package": "$(find ../../..)",
    "environment": "$(env HOME)",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", [".xacro", ".urdf"])
def test_hostile_expressions_are_refused(folder, monkeypatch, name, suffix):
    monkeypatch.chdir(folder)
    file = folder / f"evil{suffix}"
    file.write_text(f'{HEAD}<xacro:property name="p" value="{HOSTILE[name]}"/><link name="b${{p}}"/></robot>')
    with pytest.raises(FileError, match="line 1"):
        kt.load(file)
    assert not (folder / "canary").exists()


BOMBS = {
    "macro that calls itself": '<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>',
    "macros that double": "".join(
        f'<xacro:macro name="m{k}" params=""><xacro:m{k + 1}/><xacro:m{k + 1}/></xacro:macro>'
        for k in range(40)
    )
    + '<xacro:macro name="m40" params=""><a/></xacro:macro><xacro:m0/>',
    "texts that double": '<xacro:property name="a0" value="xxxxxxxxxx"/>'
    + "".join(f'<xacro:property name="a{k + 1}" value="${{a{k}}}${{a{k}}}"/>' for k in range(60))
    + '<a v="${a60}"/>',
    "lists that double": '<xacro:property name="a0" value="${[1]}"/>'
    + "".join(f'<xacro:property name="a{k + 1}" value="${{[a{k}, a{k}]}}"/>' for k in range(60))
    + '<a v="${a60}"/>',
    "squares": '<xacro:property name="a0" value="3"/>'
    + "".join(f'<xacro:property name="a{k + 1}" value="${{a{k} * a{k}}}"/>' for k in range(60))
    + '<a v="${a60}"/>',
    "property of itself": '<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/>'
    '<a v="${a}"/>',
    "file that includes itself": '<xacro:include filename="top.xacro"/>',
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_with_a_message(folder, name):
    with pytest.raises(FileError, match=r"top\.xacro"):
        kt.load(written(folder, BOMBS[name]))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a v="${x}"/>', r"line 1: in '\$\{x\}': 'x' is not defined"),
        ('\n<a v="${1 +}"/>', r"line 2: .*is not an expression"),
        ('<a v="${1"/>', "is not closed"),
        ('<a v="${lambda: 1}"/>', "lambda is not supported"),
        ('<a v="${len}"/>', "is not a value"),
        ("<xacro:part/>", r"<xacro:part>: unknown macro 'part'"),
        ('<xacro:macro name="m" params="a"/><xacro:m/>', "parameters are missing: a"),
        ('<xacro:macro name="m" params="a"/><xacro:m b="1"/>', r"unknown parameter 'b'; allowed: a"),
        ('<xacro:macro name="m" params="*a"/><xacro:m/>', "the block 'a' is missing"),
        ('<xacro:if value="maybe"><a/></xacro:if>', "the condition 'maybe'"),
        ('<xacro:include filename="none.xacro"/>', r"<xacro:include>: .*none\.xacro: no such file"),
        ('<xacro:include filename="/etc/passwd"/>', "is outside the folder"),
        ('<xacro:include filename="$(find nowhere)/a.xacro"/>', r"package 'nowhere' is neither .*packages="),
        ('<xacro:insert_block name="a"/>', "there is no block 'a'"),
        ('<xacro:property name="a b" value="1"/>', "cannot be the name of a property"),
        ('<a v="$(arg speed)"/>', r"line 1: the argument 'speed' has no default.*--arg speed:="),
        ('<a v="$(run x)"/>', r"'\$\(run x\)' is not supported"),
        ("<a v=\"${xacro.load_yaml('parts/p.yaml').nme}\"/>", r"unknown key 'nme'; allowed: limits, name"),
    ],
)
def test_messages_name_the_construct(folder, body, said):
    with pytest.raises(FileError, match=said):
        kt.load(written(folder, body))


def test_faults_in_included_files_have_their_lines(folder):
    (folder / "parts" / "bad.xacro").write_text(f'{HEAD}\n\n<a v="${{nothing}}"/></robot>')
    with pytest.raises(FileError, match=r"bad\.xacro, line 3: .*'nothing' is not defined"):
        kt.load(written(folder, '<xacro:include filename="parts/bad.xacro"/>'))


def test_pipes_are_not_opened(folder):
    os.mkfifo(folder / "pipe.xacro")
    os.mkfifo(folder / "pipe.yaml")
    for body in ('<xacro:include filename="pipe.xacro"/>', "<a v=\"${xacro.load_yaml('pipe.yaml')}\"/>"):
        with pytest.raises(FileError, match="not a regular file"):
            kt.load(written(folder, body))


def test_links_out_of_the_folder_are_refused(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text("password: swordfish")
    (folder / "near.yaml").symlink_to(outside)
    with pytest.raises(FileError, match="is outside the folder") as error:
        kt.load(written(folder, "<a v=\"${xacro.load_yaml('near.yaml')}\"/>"))
    assert "swordfish" not in str(error.value)


ROBOT = (
    f'{HEAD}<xacro:arg name="mass" default="2"/><xacro:arg name="kind"/><link name="base"/>'
    '<link name="$(arg kind)_arm"><inertial><mass value="$(arg mass)"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous">'
    '<parent link="base"/><child link="$(arg kind)_arm"/></joint></robot>'
)


def test_arguments(tmp_path):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(ROBOT)
    assert kt.load(file, arguments={"kind": "ur5e"}).mass == 2.0
    assert kt.load(file, arguments={"kind": "ur5e", "mass": 3.5}).link("ur5e_arm").body.inertia.mass == 3.5
    with pytest.raises(FileError, match=r"the argument 'kind' has no default"):
        kt.load(file)
    with pytest.raises(
        InputError, match=r"unknown argument 'knd'; allowed: kind, mass\. Did you mean 'kind'"
    ):
        kt.load(file, arguments={"kind": "a", "knd": "b"})
    with pytest.raises(InputError, match="arguments must be a dict"):
        kt.load(file, arguments=[1])
    bare = tmp_path / "bare.urdf"
    bare.write_text('<robot name="r"><link name="a"/></robot>')
    with pytest.raises(InputError, match="has no xacro macros"):
        kt.load(bare, arguments={"kind": "a"})
    with pytest.raises(InputError, match="not an option"):
        kt.load(tmp_path / "arm.toml", arguments={"kind": "a"})


def test_arguments_in_studies_and_commands(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from kinetree.cli.app import app

    monkeypatch.chdir(tmp_path)
    Path("arm.urdf.xacro").write_text(ROBOT)
    Path("swing.toml").write_text(
        '[study]\ntask = "simulate"\nduration = 0.1\n[mechanism]\nfile = "arm.urdf.xacro"\n'
        '[mechanism.parameters]\narguments = {kind = "x", mass = 4}\n'
    )
    result = kt.run("swing.toml")
    assert result.mechanism.mass == 4.0
    runner = CliRunner()
    for form in ("kind:=y", "kind=y"):
        answer = runner.invoke(app, ["info", "arm.urdf.xacro", "--arg", form, "--arg", "mass:=5"])
        assert answer.exit_code == 0 and "y_arm" in answer.output
    assert runner.invoke(app, ["check", "arm.urdf.xacro", "--arg", "kind:=y"]).exit_code == 0
    missing = runner.invoke(app, ["check", "arm.urdf.xacro"])
    assert missing.exit_code == 2 and "'kind'" in missing.output


def test_the_environment_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBOT_MASS", "9")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(ROBOT.replace('default="2"', 'default="$(optenv ROBOT_MASS 2)"'))
    with pytest.warns(kt.KinetreeWarning, match="environment variable 'ROBOT_MASS'"):
        assert kt.load(file, arguments={"kind": "a"}).mass == 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kt.load(file, arguments={"kind": "a", "ROBOT_MASS": "9"}).mass == 9.0


def test_only_inside_holds_macros_and_packages(tmp_path):
    """A model of a study that is held to its folder finds no packages around that folder."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "package.xml").write_text("<package/>")
    (tmp_path / "other" / "part.xacro").write_text(f'{HEAD}<link name="base"/></robot>')
    home = tmp_path / "study"
    home.mkdir()
    include = '<xacro:include filename="$(find other)/part.xacro"/>'
    (home / "arm.urdf").write_text(f"{HEAD}{include}</robot>")
    study = home / "a.toml"
    study.write_text('[study]\ntask = "simulate"\nduration = 0.1\n[mechanism]\nfile = "arm.urdf"\n')
    with pytest.raises(FileError, match="package 'other' is neither"):
        kt.run(study, only_inside=True)
    assert kt.load(home / "arm.urdf").body_names == ("base",)


def test_calls_that_were_left_in_an_expanded_file_are_ignored(tmp_path):
    """An expanded .urdf has no macros: a call in it does nothing. Where there are macros, it is a typo."""
    robot = f'{HEAD}<link name="base"/><xacro:sensor parent="base"/></robot>'
    path = tmp_path / "r.urdf"
    path.write_text(robot)
    with pytest.warns(kt.KinetreeWarning, match=r"calls of xacro macros \(sensor\)"):
        assert kt.load(path).body_names == ("base",)
    with pytest.raises(FileError, match="the macro 'sensor' is called"):
        kt.load(path, strict=True)
    path.write_text(robot.replace("<link", '<xacro:macro name="sensors" params="parent"/><link'))
    with pytest.raises(FileError, match="Did you mean 'sensors'"):
        kt.load(path)
    (tmp_path / "r.xacro").write_text(robot)
    with pytest.raises(FileError, match="unknown macro 'sensor'"):
        kt.load(tmp_path / "r.xacro")
