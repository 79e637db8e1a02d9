"""Stages: each opens its inputs, states its recipe, asks the core, and publishes its folders.

`recon_cli.pipeline.stages` declares them: the module that a declaration names has the stage, and
loads little, since `recon status` opens every stage. What it asks for once there is something to do
is beside it, in a module of the same name with an ending: ``capacity_page``, ``ingest_partitions``.
What several stages need is in ``reconstructed`` (records and tables for a question),
``protected_counts``, ``true_counts`` and ``unit_lists`` (for protections), ``linkage_inputs``,
``result_tables`` and ``run_words``.

`recon show` (``geounit``, ``geounit_facts``, ``explanations``, ``show``), `recon verify` and `recon
check` read folders and publish none.
"""
