"""The four phases as plain functions: settings in, figures and files out.

Nothing is re-exported here, so that reading the files of a run does not import torch.
"""
