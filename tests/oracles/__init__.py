"""Independent truths, for bodies with a torque and without: in many digits, slow, sharing no code with polhode."""
