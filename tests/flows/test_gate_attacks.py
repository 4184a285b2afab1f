"""Ways around the gate that were found in workflow tools: none of them leads through."""


def test_a_gate_that_timed_out_and_is_retried_asks_again(pipeline):
    soon = ["gate.remind_hours=0.001", "gate.expire_hours=0.003"]
    flow_run_id = pipeline.begin(overrides=soon)
    pipeline.wait_for(flow_run_id, "Suspended")
    run_id = pipeline.run_id(flow_run_id)
    first = pipeline.waiting(run_id)
    pipeline.wait_for(flow_run_id, "Failed", seconds=120)
    pipeline.gaelp("gate", "approve", run_id, "--verdict", first["code"], "--why", "too late", code=3)
    pipeline.retry(run_id)
    pipeline.wait_for(flow_run_id, "Suspended", "Completed")
    assert pipeline.state(flow_run_id) == "Suspended"
    again = pipeline.waiting(run_id)
    assert again["opened_at"] > first["opened_at"]
    assert pipeline.rounds_trained(run_id) == [1, 2]
