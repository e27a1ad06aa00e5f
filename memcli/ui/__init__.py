"""The web page for the person whose memory it is. It is served to this machine only."""
