import type { GatewayView, WebhookView } from "@holdfast/protocol";
import { type FormEvent, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { WebhookCommands } from "./webhook-commands.tsx";

interface WebhooksProps {
  readonly view: GatewayView;
  readonly onChange: () => void;
}

/** A secret that was just created, which cannot be read again. */
interface NewSecret {
  readonly name: string;
  readonly secret: string;
}

/** Programs that may write to the agent with signed requests. A secret is shown once, when it is created. */
export function Webhooks({ view: { webhooks }, onChange }: WebhooksProps) {
  const { client, toasts } = useApp();
  const [shown, setShown] = useState<NewSecret | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const t = strings.programs;

  async function showSecret(request: ReturnType<typeof client.putWebhook>): Promise<boolean> {
    const result = await request;
    onChange();
    if (!result.ok) {
      toasts.show(problemText(result.error));
      return false;
    }
    const { webhook, secret } = result.value;
    if (secret === null) toasts.show(t.exists(webhook.name));
    else setShown({ name: webhook.name, secret });
    return true;
  }

  async function remove(name: string): Promise<void> {
    const result = await client.removeWebhook({ params: { name } });
    toasts.show(result.ok ? t.removed(name) : problemText(result.error));
    if (shown?.name === name) setShown(null);
    onChange();
  }

  return (
    <section className="settings-section">
      <h3>{t.title}</h3>
      <p className="quiet">{t.hint}</p>
      <ul className="facts-list">
        {webhooks.map((webhook) => (
          <WebhookRow
            key={webhook.name}
            webhook={webhook}
            onRotate={() =>
              void showSecret(client.rotateWebhook({ params: { name: webhook.name }, body: {} }))
            }
            onRemove={() => setRemoving(webhook.name)}
          />
        ))}
      </ul>
      <WebhookCommands webhooks={webhooks} onChanged={onChange} />
      {shown !== null && <SecretDialog shown={shown} onClose={() => setShown(null)} />}
      <AddWebhook
        onAdd={(name, url) =>
          showSecret(client.putWebhook({ params: { name }, body: url === "" ? {} : { url } }))
        }
      />
      {removing !== null && (
        <Dialog
          title={t.removeAsk(removing)}
          confirm={t.remove}
          tone="warn"
          onConfirm={() => void remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>{t.removeLead}</p>
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
  const t = strings.programs;
  const facts = [
    to === null ? t.inboundOnly : t.repliesTo(revealInvisible(to)),
    ...(rotating ? [t.rotating] : []),
    ...(commands.length > 0 ? [t.mayUse(commands)] : []),
    ...(connectedBy === "configuration" ? [t.fromConfiguration] : []),
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
            aria-label={t.rotateNamed(name)}
            onClick={onRotate}
          >
            {t.rotate}
          </button>
          <button
            type="button"
            className="button plain"
            aria-label={t.removeNamed(name)}
            onClick={onRemove}
          >
            {t.remove}
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
  const t = strings.programs;
  const address = new URL(`api/gateway/webhook/${name}`, document.baseURI).href;
  return (
    <section className="callout info secret" aria-label={t.secretOf(name)}>
      <h4>{t.secretOf(name)}</h4>
      <p>{t.secretLead}</p>
      {[
        [t.secret, secret],
        [t.postTo, address],
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
        {t.confirmStored}
      </button>
    </section>
  );
}

function AddWebhook({ onAdd }: { onAdd: (name: string, url: string) => Promise<boolean> }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const t = strings.programs;
  async function add(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (name === "" || !(await onAdd(name, url))) return;
    setName("");
    setUrl("");
  }
  return (
    <form className="row add-webhook" aria-label={t.add} onSubmit={(event) => void add(event)}>
      <label className="field">
        {t.name}
        <input
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder={t.nameHint}
          value={name}
          onChange={(event) => setName(event.target.value.trim())}
        />
      </label>
      <label className="field">
        {t.url}
        <input
          className="input"
          type="url"
          autoComplete="off"
          placeholder={t.urlHint}
          value={url}
          onChange={(event) => setUrl(event.target.value.trim())}
        />
      </label>
      <button type="submit" className="button primary" disabled={name === ""}>
        {t.add}
      </button>
    </form>
  );
}
