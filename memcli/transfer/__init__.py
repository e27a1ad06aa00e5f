"""Export and import memories, and the formats of other memory tools."""
