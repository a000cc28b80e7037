/** Every text of `holdfast run`. A translation replaces this table. */
export const runStrings = {
  about:
    "Asks once, prints the answer as it is written, and ends when the answer does. A message that was accepted is not lost: if the host dies, this command waits for it, and the same answer continues. The first Ctrl-C stops the answer, the second leaves. A new session works in the current folder, once you have allowed that: see holdfast workspaces --help.\n\nExit codes: 0 completed, 1 failed, 2 misused, 3 stopped, 4 interrupted, 5 stopped by a limit, 6 needs your approval or answer, 7 no host could be reached.",
  flags: {
    session: "continue this session",
    json: "print every event as a line of JSON",
    wait: (seconds: number) => `how many seconds to wait for a host that is away (${seconds})`,
  },
  examples: {
    once: "one answer, in a session of its own",
    pipe: "piped text follows the prompt",
    session: "continue a session, named by words of its title",
    json: 'the last line: {"type":"ended","state":"completed",…}',
    plan: "only read, and propose a plan to approve",
    model: "with another model, for a new session",
  },
  noPrompt: 'Enter a prompt, like holdfast run "Hello", or pipe one in.',
  invalidWait: "--wait must be a number of seconds.",
  noSession: (name: string) =>
    `No session, or more than one, matches "${name}". To list them: holdfast sessions list`,
  waitingForHost: "Disconnected. Waiting for the host…",
  hostGone: (id: string) =>
    `The host did not come back. Your message is saved; to see its answer: holdfast chat --session ${id}`,
  needsApproval: (call: string) => `Needs your approval:\n${call}`,
  needsAnswer: (question: string) => `Needs your answer:\n${question}`,
  answerIt: (id: string) =>
    `Answer with holdfast chat --session ${id}, on the page, or at POST /api/approvals/<id>.`,
  paused: (id: string) => `Paused. To continue: /resume in holdfast chat --session ${id}`,
} as const;
