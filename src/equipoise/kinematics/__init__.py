"""Where the centre of mass is and how joints move it."""
