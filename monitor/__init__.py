"""Everything that watches a run: metrics, diagnostics, TensorBoard, pictures, the report. Nothing here changes what is learned."""
