"""The world: contact, terrain, actuators, sensors, engines and the loop."""
