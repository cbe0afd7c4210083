package verifier

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestCounted: what of a list of changes counts.
func TestCounted(t *testing.T) {
	for changes, want := range map[string]string{
		"C /bin;C /bin/ls;A /bin/new":                                                                                                            "/bin/ls",
		"A /usr/local/bin/bash;A /usr/local/bin/tool":                                                                                            "/usr/local/bin/bash",
		"A /opt/x/bin/python3.12;A /opt/x/bin/named;A /opt/x/bin/test.sh":                                                                        "/opt/x/bin/named /opt/x/bin/python3.12 /opt/x/bin/test.sh",
		"C /usr/lib;C /usr/lib/x;A /usr/lib/x/a.so;C /usr/lib/x/b.so;D /usr/lib/x/c.so":                                                          "/usr/lib/x/b.so /usr/lib/x/c.so",
		"A /v/site-packages/module;A /v/site-packages/module/__pycache__;A /v/site-packages/other":                                               "/v/site-packages/module",
		"C /v/lib/site-packages/q;C /v/lib/site-packages/q/__pycache__;A /v/lib/site-packages/q/__pycache__/a.pyc;C /v/lib/site-packages/r/s.py": "/v/lib/site-packages/r/s.py",
		"A /app/sitecustomize;A /app/sitecustomize/__init__.py;A /app/sitecustomize/__pycache__":                                                 "/app/sitecustomize /app/sitecustomize/__init__.py",
		"A /usr/lib/a.pth;A /app/usercustomize.so;A /app/conftest.py;A /pytest.ini;A /app/conftests.py":                                          "/app/conftest.py /app/usercustomize.so /pytest.ini /usr/lib/a.pth",
		"C /etc;A /etc/ld.so.preload;A /etc/ld.so.conf.d/x.conf;C /etc/passwd;C /etc/ld.so.cache;A /home/w/.profile":                             "/etc/ld.so.conf.d/x.conf /etc/ld.so.preload /home/w/.profile",
		"A /etc/cron.d;A /etc/cron.d/x;C /etc/crontab;C /var/spool/cron/crontabs;A /var/spool/cron/crontabs/root;A /etc/cron.daily/x":            "/etc/cron.d/x /etc/crontab /var/spool/cron/crontabs/root",
		"C /etc/alternatives;C /etc/alternatives/awk;A /etc/alternatives/editor":                                                                 "/etc/alternatives/awk",
		"D /usr/bin;D /usr":             "/usr /usr/bin",
		"C /start.sh;C /other.sh":       "/start.sh",
		"C /app;C /app/run.sh":          "/app/run.sh",
		"A /app/named;A /app/module.py": "",
	} {
		c := &tampered{words: map[string]bool{"named": true, "module": true, "test.sh": true}, starts: map[string]bool{}, found: map[string]bool{}}
		c.Start("[sh /start.sh] [./run.sh app]")
		for _, change := range strings.Split(changes, ";") {
			c.Add(change[0], change[2:])
		}
		if got := strings.Join(slices.Sorted(maps.Keys(c.found)), " "); got != want {
			t.Errorf("%s: %s", changes, got)
		}
	}
}
