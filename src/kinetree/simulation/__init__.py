"""What motion do these forces cause? Integration in time, contact with the ground, energy audit."""
