"""Good models in formats that nothing here writes: SDF, loops beside URDF, MJCF by hand."""

from __future__ import annotations

MJCF = """<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-2 2" damping="0.1" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>
      <body name="fore" pos="0.4 0 0" euler="0 0.3 0">
        <joint name="elbow" type="hinge" axis="0 1 0.2" stiffness="3" springref="0.2"/>
        <inertial pos="0.2 0 0" mass="1.5" diaginertia="0.01 0.02 0.02"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 0" limited="true" range="0 0.1"/>
          <geom type="box" size="0.05 0.04 0.02" density="800"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="1 0 2"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
  </worldbody>
</mujoco>"""
_BODY = """<inertial><pose>{x} 0 0.02 0.1 0 0.2</pose><mass>{mass}</mass>
        <inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy></inertia></inertial>"""
_LINK = """      <link name="{name}"><pose relative_to="{frame}">{pose}</pose>
        {body}
        <visual name="seen"><geometry><box><size>0.1 0.1 0.1</size></box></geometry></visual>
        <collision name="met"><geometry><sphere><radius>0.05</radius></sphere></geometry></collision>
      </link>"""
_JOINT = """      <joint name="{name}" type="{kind}"><pose>{pose}</pose>
        <parent>{parent}</parent><child>{child}</child>
        <axis><xyz expressed_in="{frame}">{axis}</xyz>
          <limit><lower>-2</lower><upper>2</upper><effort>40</effort><velocity>3</velocity></limit>
          <dynamics><damping>0.1</damping></dynamics></axis>
      </joint>"""


def _link(name: str, frame: str, pose: str, mass: float, x: float = 0.1) -> str:
    return _LINK.format(name=name, frame=frame, pose=pose, body=_BODY.format(mass=mass, x=x))


def _joint(name: str, kind: str, parent: str, child: str, axis: str, pose: str = "0 0 0 0 0 0") -> str:
    return _JOINT.format(
        name=name, kind=kind, parent=parent, child=child, axis=axis, frame="__model__", pose=pose
    )


def _sdf(*parts: str) -> str:
    inside = "\n".join(parts)
    return f'<sdf version="1.9">\n  <model name="robot">\n{inside}\n  </model>\n</sdf>'


SDF = (
    _sdf(
        '      <frame name="bench" attached_to="__model__"><pose>0 0 0.4 0 0 0.3</pose></frame>',
        _link("shoulder", "bench", "0 0 0.1 0 0 0", 3.0),
        _link("upper_arm", "shoulder", "0.1 0 0.2 0.2 0 0", 2.0, 0.2),
        _link("fore_arm", "upper_arm", "0.4 0 0 0 0.3 0", 1.5, 0.2),
        _link("tool_1", "fore_arm", "0.3 0 0 0 0 0.5", 0.4),
        _joint("j_1", "revolute", "world", "shoulder", "0 0 1"),
        _joint("j_2", "revolute", "shoulder", "upper_arm", "0 1 0"),
        _joint("j_3", "revolute", "upper_arm", "fore_arm", "0 1 0.1", "0.01 0 0 0 0 0"),
        _joint("j_4", "prismatic", "fore_arm", "tool_1", "1 0 0"),
    ),
    _sdf(
        _link("trunk_0", "__model__", "0 0 0.5 0 0 0", 8.0),
        *(_link(f"thigh_{k}", "trunk_0", f"{k} 0.1 -0.05 0 0 0", 1.0) for k in (0, 1)),
        *(_link(f"shank_{k}", f"thigh_{k}", "0 0 -0.3 0 0.1 0", 0.6) for k in (0, 1)),
        *(_joint(f"hip_{k}", "revolute", "trunk_0", f"thigh_{k}", "0 1 0") for k in (0, 1)),
        *(_joint(f"knee_{k}", "continuous", f"thigh_{k}", f"shank_{k}", "0 1 0") for k in (0, 1)),
    ),
)
_ROD = (
    '<inertial><origin xyz="0.2 0 0"/><mass value="{m}"/>'
    '<inertia ixx="0.011" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def _rod(name: str, mass: float) -> str:
    return f'<link name="{name}">{_ROD.format(m=mass)}</link>'


def _pin(name: str, parent: str, child: str, at: str = "0 0 0", kind: str = "continuous") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{at}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/></joint>'
    )


_FIVE_BAR = (
    '<link name="base"/>', _rod("left_arm", 1.0), _rod("right_arm", 1.5), _rod("left_rod", 0.7),
    _rod("right_rod", 1.0), _pin("mot_left", "base", "left_arm"),
    _pin("mot_right", "base", "right_arm", "0.3 0 0"), _pin("left_elbow", "left_arm", "left_rod", "0.4 0 0"),
    _pin("right_elbow", "right_arm", "right_rod", "0.4 0 0"),
)  # fmt: skip
_TIPS = (
    '<link name="tip_a"/>', '<link name="tip_b"/>', _pin("fix_a", "left_rod", "tip_a", "0.4 0 0", "fixed"),
    _pin("fix_b", "right_rod", "tip_b", "0.4 0 0", "fixed"),
)  # fmt: skip
_LOOP = """<loop name="tip" type="continuous">
<predecessor link="left_rod"><origin xyz="0.4 0 0"/></predecessor>
<successor link="right_rod"><origin xyz="0.4 0 0"/></successor><axis xyz="0 1 0"/></loop>"""
YAML = """closed_loop: [['tip_a', 'tip_b']]
type: ['3D']
name_mot: ['mot_left', 'mot_right']
joint_name: []
joint_type: []
"""


def _robot(*parts: str) -> str:
    inside = "\n".join(parts)
    return f'<robot name="five_bar">\n{inside}\n</robot>'


WITH_LOOP = _robot(*_FIVE_BAR, _LOOP)  # as URDF+ has it
WITH_TIPS = _robot(*_FIVE_BAR, *_TIPS)  # whose loop stands in YAML beside it
