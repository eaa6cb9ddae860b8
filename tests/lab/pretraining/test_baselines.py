from lab.pretraining import baselines_study as study


def test_a_text_that_was_read_before_is_cheap_and_letters_are_not():
    """A repeated text costs a compressor next to nothing; equal bytes cost order 1 nothing."""
    text = bytes(range(256)) * 40
    found = study.study(text, text[:2560])
    assert found["compressors"]["xz"]["after training text"] < 0.2
    assert 7.5 < found["tables"][1] < 8.5  # every byte as often as any other
    assert found["tables"][2] < 1.5


def test_the_record_names_both_texts(tmp_path):
    found = study.main(["--bytes", "3000", "--record", str(tmp_path / "record.json")])
    assert found["training_bytes"] == found["held_out_bytes"] == 3000
    assert set(found["compressors"]) == {"xz", "bz2"}
