"""Stateless steps that are fused into stages."""
