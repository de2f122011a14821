"""What there is to see of a run or a robot in space."""
