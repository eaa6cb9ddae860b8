from lab.pretraining import baselines_study as study


def test_a_text_that_was_read_before_is_cheap_and_letters_are_not():
    """A repeated text costs a compressor next to nothing; equal bytes cost order 1 nothing."""
    text = bytes(range(128)) * 80
    found = study.study(text, text[:2560])
    assert found["compressors"]["xz"]["after training text"] < 0.2
    assert 6.5 < found["tables"][1] < 7.5  # each of 128 bytes as often as any other
    assert found["tables"][2] < 1.5


def test_the_record_names_both_texts(tmp_path):
    found = study.main(["--bytes", "3000", "--record", str(tmp_path / "record.json")])
    assert found["training_bytes"] == found["held_out_bytes"] == 3000
    assert set(found["compressors"]) == {"xz", "bz2"}


def test_a_shared_run_of_13_words_is_counted():
    words = "to be or not to be that is the question whether tis nobler"
    assert study.study(words.encode(), words.encode())["shared_runs_of_13_words"] == 1
    assert study.study(words.encode(), words[:40].encode())["shared_runs_of_13_words"] == 0
