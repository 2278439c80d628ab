"""MATLAB files of ReDySim, written as in [Shah2013], chapter 10, become mechanisms and studies."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.matlab_values import matlab_values
from kinetree.study.convert import convert

GRIPPER = """
function [type dof s n_s n_l n_j bt al alp a b dx dy dz m g Icxx Icyy
Iczz Icxy Icyz Iczx aj Tp step]=inputs()
type=0; %0 for open-loop and 1 for closed-loop
dof=4; s=3; n_s=[1, 2, 1]; n_l=sum(n_s);
bt=[0, 1, 2, 1];
n_j=[1, 1, 1, 1];
al=[0.10, 0.05, 0.05, 0.05];
alp=[0, 0, 0, 0];
a=[0, 0.10, 0.05, 0.05];
b=[0; 0; 0; 0];
dx=[0.1/2, 0.05/2, 0.05/2, 0.05/2];
dy=[0, 0, 0, 0]; dz=[0, 0, 0, 0];
m=[0.4, 0.2, 0.2, 0.2];
Icxx=zeros(n,1);Icyy=zeros(n,1);Iczz=zeros(n,1);% Initialization
Icxy=zeros(n,1);Icyz=zeros(n,1);Iczx=zeros(n,1);
Icxx(1)=0; Icyy(1)=(1/12)*m(1)*al(1)^2; Iczz(1)=(1/12)*m(1)*0.1*0.1;
Icyy(2)=(1/12)*m(2)*0.05*0.05; Iczz(2)=(1/12)*m(2)*0.05*0.05;
Icyy(3)=(1/12)*m(3)*0.05*0.05; Iczz(3)=(1/12)*m(3)*0.05*0.05;
Icyy(4)=(1/12)*m(4)*0.05*0.05; Iczz(4)=(1/12)*m(4)*0.05*0.05;
g=[0 ; -9.81; 0];
aj=[1, 1, 1, 1];
Tp=1; ts=0.01;
"""
TRAJECTORY = """
function [th_ind,dth_ind,ddth_ind]=trajectory(time, dof, Tp)
thi=[0, 0, 0, pi/2];
t2r=pi/180;
thf=[pi/3, 80*t2r, 80*t2r, pi/2+pi/6];
for i=1:n
    th_ind(i)=thi(i)+((thf(i)-thi(i))/Tp)*(time-(Tp/(2*pi))*sin((2*pi/Tp)*time));
end
"""
INITIALS = """
function [y0,ti,tf,incr,rtol,atol,step,int_type]=initials()
th=[-60*pi/180 0 0 0];
dth=[0, 0, 0, 0]; E_act=0; y0=[th, dth, E_act];
ti=0; tf=1; step=0.01;
rtol=1e-8; atol=1e-9; int_type=0; %0 for ode45, 1 for ode15s, 2 for ode5
"""
BIPED = """
bt=[0, 1, 2, 3, 1, 5, 6]; n=[6, 1, 1, 1, 1, 1, 1];
alp=[0, 0, 0, 0, 0, 0, 0]; a=[0, 0.25, 0.5, 0.5, 0.25, 0.5, 0.5]; b=zeros(1,7);
dx=[ 0, 0.5/2, 0.5/2, 0, 0.5/2, 0.5/2, 0]; dy=0*dx; dz=0*dx;
m=[5, 1, 1, 0.2, 1, 1, 0.2];
Icxx(1)=0.1; Icyy(1)=0.1; Iczz=[0.1 0.02 0.02 0.01 0.02 0.02 0.01]; Icxx(7)=0; Icyy(7)=0;
Icyy(2:7)=Iczz(2:7);
g=[0; -9.81; 0];
k=2000; cv=10*2*sqrt(K*sum(m));
"""


def files(folder, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.m").write_text(text)
    return folder / "inputs.m"


def test_the_gripper_of_the_book(tmp_path):
    gripper, known = kt.load(files(tmp_path / "gripper", inputs=GRIPPER)), kt.zoo.gripper()
    assert gripper.name == "gripper"
    state = kt.random_state(known, np.random.default_rng(1), 5)
    parts = state.q, state.qd, state.qdd
    found = kt.inverse_dynamics(gripper.with_gravity(known.gravity), *parts)
    np.testing.assert_allclose(found, kt.inverse_dynamics(known, *parts), atol=1e-12)
    assert gripper.gravity.tolist() == [0.0, -9.81, 0.0]


def test_it_becomes_a_file_and_two_studies_that_run(tmp_path):
    path = files(tmp_path, inputs=GRIPPER, trajectory=TRAJECTORY, initials=INITIALS)
    _, notes = convert(path, tmp_path / "gripper.toml")
    assert sum("wrote" in note for note in notes) == 2
    motion = kt.run(str(tmp_path / "gripper_inverse.toml"))
    book = kt.trajectories.cycloid([0, 0, 0, np.pi / 2], np.radians([60, 80, 80, 120]), 1.0)
    np.testing.assert_allclose(motion.q.values, book.at(motion.time.values).q, atol=1e-12)
    fall = kt.run(str(tmp_path / "gripper_simulate.toml"))
    assert fall.q.values[0].tolist() == pytest.approx([-np.pi / 3, 0, 0, 0])
    assert len(fall.time) == 101 and fall.passed
    with pytest.raises(kt.KinetreeError, match="exists"):
        convert(path, tmp_path / "gripper.toml")


def test_a_floating_biped_with_a_ground(tmp_path):
    with pytest.warns(kt.KinetreeWarning, match=r"'K' is unknown.*ground k, which belongs to a study"):
        biped = kt.load(files(tmp_path, inputs=BIPED))
    assert biped.n_dof == 12 and biped.links[0].floats
    assert [x.parent for x in biped.links] == ["world", *(f"link{k}" for k in (1, 2, 3, 1, 5, 6))]
    assert biped.mass == pytest.approx(9.4)


def test_a_closed_system_is_its_tree(tmp_path):
    text = GRIPPER.replace("type=0", "type=1").replace("aj=[1, 1, 1, 1]", "aj=[1, 0, 0, 1]")
    with pytest.warns(kt.KinetreeWarning, match="add each as a"):
        tree = kt.load(files(tmp_path, inputs=text))
    assert tree.driven.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("m=[0.4, 0.2, 0.2, 0.2]", "m=[0.4, 0.2]", "m has 2 numbers for 4 links"),
        ("bt=[0, 1, 2, 1]", "bt=[0, 1, 5, 1]", "parent of link 3 must be 0 to 2, got 5"),
        ("alp=[0, 0, 0, 0];", "alp=table(3);", "has no alp.*'table' is unknown"),
        ("n_j=[1, 1, 1, 1]", "n_j=[1, 1, 1, 5]", "joint 4 has 5 variables; allowed: 0, 1, 2, 3, 6"),
        ("g=[0 ; -9.81; 0];", "g=9.81;", "g must be three numbers"),
        ("bt=[0, 1, 2, 1]", "bt=[0, 1, 2.5, 1]", "bt must be integers"),
    ],
)
def test_refused(tmp_path, old, new, said):
    with pytest.raises(kt.KinetreeError, match=said):
        kt.load(files(tmp_path, inputs=GRIPPER.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("x = 2^3/4 - .5e1*[1 -2; 3 4]", "x", [[-3.0, 12.0], [-13.0, -18.0]]),
        ("x = [1 - 2, 3 -1]'", "x", [[-1.0], [3.0], [-1.0]]),
        ("x(2,3) = 7;", "x", [[0.0, 0.0, 0.0], [0.0, 0.0, 7.0]]),
        ("y = 1:2:6; x = y(3)*ones(1,2)", "x", [[5.0, 5.0]]),
        ("x = [1, ... more\n 2]", "x", [[1.0, 2.0]]),
        ("if 1\n x = 3;\nend\nx = 4", "x", [[4.0]]),
        ("x = -2^2", "x", [[-4.0]]),
    ],
)
def test_arithmetic(text, name, value):
    assert matlab_values(text)[0][name].tolist() == value


@pytest.mark.parametrize(
    "text",
    [
        "x = zeros(1e6,1e6)",
        "x = 1:1e9",
        "x(1e9) = 1",
        "x = " + "(" * 999 + "1" + ")" * 999,
        "x = (1",
        "x = 1/0",
    ],
)
def test_bombs_have_no_value(text):
    values, unread = matlab_values(text)
    assert "x" not in values and len(unread) == 1
