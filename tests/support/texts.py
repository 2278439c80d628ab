"""Texts of files that several tests read."""

UNPHYSICAL_URDF = """<robot name="rod">
<link name="world"/>
<link name="rod"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="world"/><child link="rod"/></joint>
</robot>
"""
