package rewards

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRewardConforms: a test of its package hands each kind that is
// listed to the suite.
func TestEveryRewardConforms(t *testing.T) {
	source, err := os.ReadFile("rewards.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?m)^\t(\w+\.)?(\w+),$`).FindAllStringSubmatch(string(source), -1)
	if len(listed) != len(All.Names()) {
		t.Fatalf("%d kinds are listed in lines of their own, of %d", len(listed), len(All.Names()))
	}
	for _, m := range listed {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(m[1], "."), "*_test.go"))
		tests := ""
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tests += string(text)
		}
		if !strings.Contains(tests, "rewardtest.Run(") || !regexp.MustCompile(`Suite\{Kind: \w+\.`+m[2]+`\b`).MatchString(tests) {
			t.Errorf("no test hands %s%s to rewardtest.Run", m[1], m[2])
		}
	}
}
