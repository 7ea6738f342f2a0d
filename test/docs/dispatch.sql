CREATE EXTENSION ql3;
\set token 7b6a2a52-3a64-4d0c-9f27-0f4f1b6f0a01
\set permit 5d1f6f0e-6f5c-4f5e-8a55-1d1f8c1f0b02
