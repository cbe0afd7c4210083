// Package agents is what a rollout and its agents agree on: an Agent makes an Attempt
// and returns a Result or a *Failure (agent.go). It also has what agents share: the line
// of JSON that describes an attempt to programs and services (task_line.go) and the one that
// they answer (result_line.go), programs that make one attempt (program.go) or many
// (worker.go), and settings (settings.go, service_settings.go).
//
// It makes no attempt and knows no agent: each has a folder, and package builtin lists them.
//
// # Adding an agent
//
// In another language, write a program and run it as agent "command"; nothing
// has to be added here. It reads one JSON line, finds the model by the
// environment variables of the OpenAI clients, and may print one JSON object last.
// Package agents/command documents the protocol, also for long-running
// programs, with a whole worker in seven lines. testdata/agents has programs
// that need nothing but Python, and others for LangGraph, LlamaIndex and ADK. A
// service receives the model's address from agent "http".
//
// In Go:
//
//  1. Write a package under agents/ with a type that implements Agent: Describe
//     returns all that decides its behaviour, and Attempt calls the model at the
//     attempt's BaseURL until it is done or its context ends. An error is a
//     *Failure with its class; the runner decides the state of the row.
//  2. Write its settings, a Settings: Declare declares the agent's options,
//     and Agent makes it. Embed Arguments or ProgramSettings where they fit.
//     What plugin.Identity finds in the Settings serves as Description.Params.
//  3. Give the package a variable Kind: its name, a phrase of help and New, which
//     returns Settings at their defaults. List it in package builtin.
//  4. In its test call agents/agenttest.Run, which defines the interface, and
//     test what is particular to the agent. The example of package agenttest is
//     a complete agent with its test.
package agents
