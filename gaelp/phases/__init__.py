"""The four phases as plain functions: settings in, figures and files out.

Nothing is re-exported here: who only looks at a run's files should not wait for torch.
"""
