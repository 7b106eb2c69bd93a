"""The experiment you have: `Pilot`, what it is made of, and how files become one."""
