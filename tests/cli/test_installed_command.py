from processes import installed


def test_the_command_says_its_version():
    done = installed("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "headcount 0.1.0\n", "")


def test_bad_input_makes_the_command_exit_with_2():
    done = installed("forecast", "missing.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headcount: error: Missing option '--classes'")
    assert done.stderr.count("\n") == 1


def test_shell_completion():
    script = installed(_HEADCOUNT_COMPLETE="source_bash")
    assert script.returncode == 0
    assert "complete -o default -F" in script.stdout
    words = {"COMP_WORDS": "headcount fo", "COMP_CWORD": "1"}
    assert installed(_HEADCOUNT_COMPLETE="complete_bash", **words).stdout.split() == ["forecast"]
