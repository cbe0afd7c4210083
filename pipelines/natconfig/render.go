package natconfig

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// sections are the sections of the result, in order. Keys without a section are
// in "".
var sections = []string{"", "rollout", "score", "group", "curate", "submit", "train", "validation"}

// width is the length of a line of comment.
const width = 100

// render returns the config file: the notes that belong to no key as the comment
// at the top, then each section.
func (c *converter) render() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	head := []string{fmt.Sprintf("Converted from %s, a configuration of NeMo Agent Toolkit (NAT), by rollmill import "+
		"nat-config.", plain(c.Name))}
	for _, n := range c.notes {
		if n.to == "" || !c.has(n.to) {
			head = append(head, "- "+n.String())
		}
	}
	root.HeadComment = comment(head) + "\n"
	for _, section := range sections {
		in := &yaml.Node{Kind: yaml.MappingNode}
		for _, s := range c.out {
			where, key, ok := strings.Cut(s.key, ".")
			if !ok {
				where, key = "", s.key
			}
			if where == section {
				name := text(key)
				name.HeadComment = c.comments(s.key)
				in.Content = append(in.Content, name, s.value)
			}
		}
		switch {
		case section == "":
			root.Content = append(root.Content, in.Content...)
		case in.Content != nil:
			root.Content = append(root.Content, text(section), in)
		}
	}
	return yaml.Dump(root, yaml.WithLineWidth(-1))
}

// comments returns the comment of a key: its notes.
func (c *converter) comments(key string) string {
	var lines []string
	for _, n := range c.notes {
		if n.to == key {
			lines = append(lines, n.String())
		}
	}
	return comment(slices.Compact(lines))
}

// comment returns paragraphs as lines of comment.
func comment(paragraphs []string) string {
	var lines []string
	for _, p := range paragraphs {
		line := "#"
		for word := range strings.FieldsSeq(p) {
			if len(line)+1+len(word) > width && line != "#" {
				lines, line = append(lines, line), "#"
			}
			line += " " + word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
