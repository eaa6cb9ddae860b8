from lab.pretraining import demos


def test_samples_demo_shows_the_last_sample_without_a_script():
    html = demos.samples_demo([10, 1000], [3.0, 2.0], ["first", "<last & best>"])._repr_html_()
    still = html[: html.index("<script>")]
    assert "&lt;last &amp; best&gt;</div>" in still
    assert "1,000" in still
    assert "2.00" in still
