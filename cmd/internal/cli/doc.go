// Package cli makes a command line of structs: an [App] is a list of [Command] values, and each
// has a settings struct (see package plugin) and a plain function. Flags, the keys of the config
// file, environment variables, help, the pages under doc/ and the completion script are all
// derived from the settings: --help describes the settings that are marked as common, and
// `rollmill help COMMAND` every one. The package also owns what every command does alike:
// standard streams, progress, redaction of secrets, escaping of control characters, exit codes
// and crashes.
//
// It knows no command and no stage. It serves one program, so the name rollmill
// and the prefix of its variables are written here.
//
// # To add a command
//
// Write a file in cmd/rollmill with a Command and its function, and add it to the
// list in app.go there:
//
//	var sealCommand = cli.Command{
//		Name:    "seal",
//		Heading: keepHeading,
//		Usage:   "write the manifest of a dataset whose shards are complete",
//		About:   `The last shard to finish does this, and so does every reader.`,
//		Body:    cli.With(newSealSettings, runSeal),
//	}
//
//	func runSeal(ctx context.Context, s *cli.Session, o *sealSettings) error
//
// Then `make docs` writes its page.
//
// # Parsing
//
// urfave/cli finds the command and splits flags from values; it is imported only here. Its help,
// its completion and its lists are not used: they know no plug-ins and no config file, and they
// would be a second place that decides what a flag means.
package cli
