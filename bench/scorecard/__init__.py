"""Measure mem beside other tools of agent memory."""
