"""bench.agent: its table and its targets."""

from bench import agent, wanted


def a_round(answer, edit, idle):
    return {
        "50 answers a second": {"cost": answer, "rate": 49.6},
        "500 answers a second": {"cost": answer, "rate": 300},
        agent._EDIT: {"cost": edit},
        agent._IDLE: {"cost": idle},
    }


def test_costs_are_given_per_answer_per_edit_and_per_second():
    result = agent.summary([a_round(90, 9.5, 0.2), a_round(110, 12, 0.1), a_round(95, 11, 0.4)], 15)

    text = agent.as_text(result)
    assert "| 50 answers a second | 50 | 95 (90 to 110) us an answer | 100 |" in text
    assert f"| {agent._EDIT} | - | 11.0 (9.5 to 12.0) ms an edit | 10 |" in text
    assert "| nothing | - | 0.20 (0.10 to 0.40) % of a core | 0.3 |" in text
    found = wanted.rows("agent", result)
    assert [(row.figure, row.reached) for row in found] == [
        ("95 us an answer", True),
        ("95 us an answer", None),
        ("11.0 ms an edit", False),
        ("0.20 % of a core", True),
    ]
    assert found[1].measurement == "agent: 500 answers a second asked for, 300 answered"
