"""Independent truths for the free rigid body: in arbitrary precision, slow, sharing no code with polhode."""
