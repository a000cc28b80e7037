/** Every text of `holdfast run` beyond its help. A translation replaces this table. */
export const runStrings = {
  noPrompt: 'Enter a prompt, like holdfast run "Hello", or pipe one in.',
  invalidWait: "--wait takes a number of seconds.",
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
