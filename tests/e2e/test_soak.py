"""The loop of all soaks: it goes on where it stopped, and a failure ends it with status 1 and keeps the files."""
import json

import pytest
import soak


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(soak, "STATES", tmp_path)
    monkeypatch.setattr(soak, "commit", lambda: "none")

    def run(work, *arguments):
        return soak.Soak("trial", "A trial.", bar=10).run(work, list(arguments))

    return run


def summary(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_goes_on_where_it_stopped(run, capsys):
    seen = []

    def work(trial):
        for number in trial.rounds():
            seen.append((number, trial.random(number).random()))
            trial.add({"points": 2})
            trial.at_most({"size": number})

    assert run(work, "--seed", "7", "--rounds", "2") == 0
    assert run(work, "--rounds", "3") == 0
    assert [number for number, _ in seen] == [0, 1, 2, 3, 4]
    told = summary(capsys)
    assert told["passed"] and told["rounds"] == 5 and told["seed"] == 7
    assert told["totals"] == {"points": 10, "rounds": 5} and told["most"] == {"size": 4}
    once = list(seen)
    seen.clear()
    assert run(work, "--seed", "7", "--rounds", "5") == 0
    assert seen == once, "the seed and the number say what a round does"


def test_a_failure_keeps_the_files_and_is_repeated(run, capsys, tmp_path):
    tried = []

    def work(trial):
        for number in trial.rounds():
            (trial.folder / "file").write_text("evidence")
            tried.append(number)
            assert number < 2, "broken"

    assert run(work, "--seed", "7") == 1
    out = capsys.readouterr().out
    assert "FAILED in round 2" in out and "--seed 7 --first 0" in out and not json.loads(out.splitlines()[-1])["passed"]
    [kept] = tmp_path.glob("soak-trial-*/file")
    assert kept.read_text() == "evidence"
    assert run(work) == 1
    assert tried == [0, 1, 2, 2], "the round that failed is the first of the next run"


def test_no_time_no_round(run, capsys):
    assert run(lambda trial: pytest.fail() if list(trial.rounds()) else None, "--minutes", "0", "--seed", "1") == 0
    assert summary(capsys)["rounds"] == 0
