package command_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/score"
)

// TestMain lets this test binary be the reward program: its words are the
// binary, "program" and how it should behave.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		if mode, ok := strings.CutPrefix(os.Args[2], "arrow-"); ok {
			arrowProgram(mode)
		} else {
			program(os.Args[2], os.Args[3:])
		}
		return
	}
	flag.Set("test.parallel", "8") // the tests wait more than they compute; the command line still decides
	os.Exit(m.Run())
}

// badAnswer is what the program misbehaves at.
const badAnswer = "bad"

func program(mode string, more []string) {
	out := bufio.NewWriter(os.Stdout)
	var held []string
	if mode == "chatty" {
		fmt.Print("loading the model\n\nit took 0.1 s\n")
	}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			out.Flush()
			return
		}
		var r score.Request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, "not a request:", err)
			os.Exit(9)
		}
		say := fmt.Sprintf(`{"id":%q,"reward":%d}`, r.ID, len(r.Answer)%7)
		if r.Answer == badAnswer {
			say = misbehave(mode, r, more)
		}
		switch mode {
		case "chatty":
			say = "scoring " + r.ID + "\n" + say
		case "twice":
			say += "\n" + say
		case "shaped":
			say = fmt.Sprintf(`{"id":%q,"reward":1,"shaped_rewards":[0.25,%d]}`, r.ID, r.Seed%2)
		case "seed":
			say = fmt.Sprintf(`{"id":%q,"reward":%d}`, r.ID, len(os.Getenv("ROLLMILL_SEED"))+len(os.Getenv("ROLLMILL_REWARD"))+int(r.Seed%5))
		case "reversed": // two at a time, the second first
			if held = append(held, say); len(held) < 2 && input.Buffered() > 0 {
				continue
			}
			say = held[len(held)-1]
			if len(held) == 2 {
				say += "\n" + held[0]
			}
			held = nil
		}
		if fmt.Fprintln(out, say); mode != "unflushed" {
			out.Flush()
		}
	}
}

func misbehave(mode string, r score.Request, more []string) string {
	switch mode {
	case "crash":
		fmt.Fprintln(os.Stderr, "Traceback: the board is", r.Answer)
		os.Exit(3)
	case "hang":
		if len(more) > 0 { // and leave a child that holds our output
			child := exec.Command("sleep", "600")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			child.Start()
			os.WriteFile(more[0], fmt.Append(nil, child.Process.Pid), 0o600)
		}
		time.Sleep(time.Hour) // select {} may be found to be a deadlock
	case "flood":
		for {
			os.Stderr.WriteString(strings.Repeat("no! ", 1<<14))
			fmt.Println("no!")
		}
	case "endless":
		for {
			os.Stdout.WriteString(strings.Repeat("x", 1<<20))
		}
	case "prose":
		return "I think it is good."
	case "noid":
		return `{"reward":1}`
	case "stranger":
		return `{"id":"someone else","reward":1}`
	case "nan":
		return fmt.Sprintf(`{"id":%q,"reward":NaN}`, r.ID)
	case "text":
		return fmt.Sprintf(`{"id":%q,"reward":"1"}`, r.ID)
	case "null":
		return fmt.Sprintf(`{"id":%q,"reward":null}`, r.ID)
	case "error":
		return fmt.Sprintf(`{"id":%q,"reward":null,"error":"no such board"}`, r.ID)
	case "quit":
		os.Exit(0)
	}
	return fmt.Sprintf(`{"id":%q,"reward":0.5}`, r.ID)
}
