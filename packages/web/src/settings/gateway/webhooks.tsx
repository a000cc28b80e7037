import type { GatewayView, WebhookView } from "@holdfast/protocol";
import { type FormEvent, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

interface WebhooksProps {
  readonly view: GatewayView;
  readonly again: () => void;
}

/** What its program has to be told, while it can be. */
interface NewSecret {
  readonly name: string;
  readonly secret: string;
}

/** Programs that may speak to the agent by signed requests. A secret is shown once, where it is made. */
export function Webhooks({ view: { webhooks }, again }: WebhooksProps) {
  const { client, toasts } = useApp();
  const [shown, setShown] = useState<NewSecret | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const w = strings.programs;

  async function show(asked: ReturnType<typeof client.putWebhook>): Promise<boolean> {
    const result = await asked;
    again();
    if (!result.ok) {
      toasts.show(problemText(result.error));
      return false;
    }
    const { webhook, secret } = result.value;
    if (secret === null) toasts.show(w.known(webhook.name));
    else setShown({ name: webhook.name, secret });
    return true;
  }

  async function remove(name: string): Promise<void> {
    const result = await client.removeWebhook({ params: { name } });
    toasts.show(result.ok ? w.removed(name) : problemText(result.error));
    if (shown?.name === name) setShown(null);
    again();
  }

  return (
    <section className="settings-part">
      <h3>{w.title}</h3>
      <p className="quiet">{w.hint}</p>
      <ul className="facts-list">
        {webhooks.map((webhook) => (
          <WebhookRow
            key={webhook.name}
            webhook={webhook}
            onRotate={() =>
              void show(client.rotateWebhook({ params: { name: webhook.name }, body: {} }))
            }
            onRemove={() => setRemoving(webhook.name)}
          />
        ))}
      </ul>
      {shown !== null && <SecretDialog shown={shown} onClose={() => setShown(null)} />}
      <AddWebhook
        onLetIn={(name, url) =>
          show(client.putWebhook({ params: { name }, body: url === "" ? {} : { url } }))
        }
      />
      {removing !== null && (
        <Dialog
          title={w.removeAsk(removing)}
          confirm={w.remove}
          tone="warn"
          onConfirm={() => void remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>{w.removeLead}</p>
        </Dialog>
      )}
    </section>
  );
}

interface WebhookRowProps {
  readonly webhook: WebhookView;
  readonly onRotate: () => void;
  readonly onRemove: () => void;
}

function WebhookRow({ webhook, onRotate, onRemove }: WebhookRowProps) {
  const { name, to, connectedBy, rotating, commands } = webhook;
  const w = strings.programs;
  const facts = [
    to === null ? w.heardOnly : w.hearsAt(revealInvisible(to)),
    ...(rotating ? [w.rotating] : []),
    ...(commands.length > 0 ? [w.mayUse(commands)] : []),
    ...(connectedBy === "configuration" ? [w.fromConfiguration] : []),
  ];
  return (
    <li>
      <span className="fact-text">
        <strong>{revealInvisible(name)}</strong>
        <span className="quiet">{facts.join("; ")}</span>
      </span>
      {connectedBy === "page" && (
        <span className="row">
          <button
            type="button"
            className="button"
            aria-label={w.rotateNamed(name)}
            onClick={onRotate}
          >
            {w.rotate}
          </button>
          <button
            type="button"
            className="button plain"
            aria-label={w.removeNamed(name)}
            onClick={onRemove}
          >
            {w.remove}
          </button>
        </span>
      )}
    </li>
  );
}

function SecretDialog({
  shown: { name, secret },
  onClose,
}: {
  shown: NewSecret;
  onClose: () => void;
}) {
  const w = strings.programs;
  const address = new URL(`api/gateway/webhook/${name}`, document.baseURI).href;
  return (
    <section className="callout calm secret" aria-label={w.secretOf(name)}>
      <h4>{w.secretOf(name)}</h4>
      <p>{w.secretLead}</p>
      {[
        [w.secret, secret],
        [w.postTo, address],
      ].map(([label = "", text = ""]) => (
        <p key={label} className="fact-text">
          <span className="quiet">{label}</span>
          <span className="row">
            <code dir="ltr">{text}</code>
            <CopyButton text={text} label={`${strings.common.copy}: ${label}`} />
          </span>
        </p>
      ))}
      <button type="button" className="button" onClick={onClose}>
        {w.kept}
      </button>
    </section>
  );
}

function AddWebhook({ onLetIn }: { onLetIn: (name: string, url: string) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const w = strings.programs;
  async function letIn(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (name === "" || !(await onLetIn(name, url))) return;
    setName("");
    setUrl("");
  }
  return (
    <form className="row let-in" aria-label={w.letIn} onSubmit={(event) => void letIn(event)}>
      <label className="field">
        {w.name}
        <input
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder={w.nameHint}
          value={name}
          onChange={(event) => setName(event.target.value.trim())}
        />
      </label>
      <label className="field">
        {w.url}
        <input
          className="input"
          type="url"
          autoComplete="off"
          placeholder={w.urlHint}
          value={url}
          onChange={(event) => setUrl(event.target.value.trim())}
        />
      </label>
      <button type="submit" className="button primary" disabled={name === ""}>
        {w.letIn}
      </button>
    </form>
  );
}
