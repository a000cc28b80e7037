// Fonts and styles of formulas, loaded with the first one.
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet has no names
import "katex/dist/katex.css";
