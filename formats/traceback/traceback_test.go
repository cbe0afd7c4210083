package traceback

import "testing"

func TestPlace(t *testing.T) {
	const first = `Traceback (most recent call last):
  File "/home/me/agent.py", line 3, in <module>
    main()
  File "/home/me/agent.py", line 12, in main
    client.post(example["exmaple"])
`
	for text, want := range map[string]string{
		"":                              "",
		"KeyError: 'exmaple'":           "",
		first + "KeyError: 'exmaple'\n": "/home/me/agent.py, line 12, in main",
		first + `  File "/venv/lib/python3.12/site-packages/httpx/_client.py", line 9, in post
  File "/usr/lib/python3.12/ssl.py", line 1, in read
  File "/src/rollmill/_stdio.py", line 1, in take
  File "<string>", line 1, in <module>
TimeoutError: late`: "/home/me/agent.py, line 12, in main",
		first + "KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File \"own/tools.py\", line 5, in use\nValueError: 2": "own/tools.py, line 5, in use",
		"  File \"reward.py\", line 4\n    def mine(row)\nSyntaxError: expected ':'": "reward.py, line 4",
	} {
		if got := Place(text); got != want {
			t.Errorf("%q, want %q: %s", got, want, text)
		}
	}
}

func TestSummary(t *testing.T) {
	const frames = "Traceback (most recent call last):\n  File \"agent.py\", line 7, in solve\n    return 1 / 0\n           ~~^~~\n"
	for text, want := range map[string]string{
		"":          "",
		"no module": "",
		"loading\n" + frames + "ZeroDivisionError: division by zero\nmore of it\n": "ZeroDivisionError: division by zero (agent.py, line 7, in solve)",
		frames: "",
		"Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nKeyError: 1": "KeyError: 1",
	} {
		if got := Summary(text); got != want {
			t.Errorf("%q, want %q: %s", got, want, text)
		}
	}
}
