import type { AgentContext } from "@agentclientprotocol/sdk";
import { type Client, refusalFrom, type Result } from "@holdfast/client";
import type { ApprovalId } from "@holdfast/protocol";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { askEditor } from "./permissions.ts";

export interface ApprovalRequestsDeps {
  readonly client: Client;
  readonly editor: AgentContext;
  readonly abilities: { readonly forms: boolean };
  /** Whether this editor may answer approvals. */
  readonly mayApprove: boolean;
  readonly sessionId: string;
  readonly folder: () => string;
  readonly closed: AbortSignal;
  /** Announces the call that a request is about. */
  readonly showCall: (call: OpenApproval) => void;
  readonly retry: <T>(request: () => Promise<Result<T>>) => Promise<Result<T>>;
  readonly onFailed: (sentence: string) => void;
}

/** The approvals of a session as requests to its editor. They can be answered elsewhere at any time. */
export class ApprovalRequests {
  readonly #deps: ApprovalRequestsDeps;
  readonly #asked = new Map<ApprovalId, AbortController>();

  constructor(deps: ApprovalRequestsDeps) {
    this.#deps = deps;
  }

  /** Asks for what waits, and takes back what was answered elsewhere. */
  sync(open: readonly OpenApproval[]): void {
    for (const [id, asking] of this.#asked) {
      if (open.some(({ approvalId }) => approvalId === id)) continue;
      asking.abort();
      this.#asked.delete(id);
    }
    if (!this.#deps.mayApprove) return;
    for (const approval of open)
      if (!this.#asked.has(approval.approvalId)) void this.#ask(approval);
  }

  async #ask(approval: OpenApproval): Promise<void> {
    const { client, editor, sessionId, folder, abilities, closed } = this.#deps;
    const { approvalId } = approval;
    const asking = new AbortController();
    this.#asked.set(approvalId, asking);
    this.#deps.showCall(approval);
    const signal = AbortSignal.any([asking.signal, closed]);
    const answer = await askEditor(approval, {
      editor,
      sessionId,
      folder: folder(),
      hasForms: abilities.forms,
      signal,
    }).catch(() => null);
    if (answer === null || signal.aborted) return;
    const result = await this.#deps.retry(() =>
      client.answerApproval({ params: { id: approvalId }, body: { ...answer } }),
    );
    if (!result.ok && result.error.code !== "approval_answered")
      this.#deps.onFailed(refusalFrom(result.error).sentence);
  }
}
