"""Run the real agent programs against a scripted model. Start with lab.py."""
