import { type McpServerBody, programText } from "@holdfast/protocol";
import { type FormEvent, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { Choice, TextField } from "../form-fields.tsx";
import { LinesField, SecretField } from "./fields.tsx";
import { readLines, readVariables } from "./read-form.ts";

const blank = {
  name: "",
  url: "",
  header: "",
  value: "",
  command: "",
  args: "",
  env: "",
  network: "none" as "none" | "host",
};
type Form = typeof blank;

/** Adds a server by its address, or as a program, after showing exactly what would run. */
export function AddMcpServer({ onAdded }: { readonly onAdded: () => void }) {
  const { client, toasts } = useApp();
  const [kind, setKind] = useState<"http" | "program">("http");
  const [form, setForm] = useState<Form>(blank);
  const [asking, setAsking] = useState<McpServerBody | null>(null);
  const t = strings.mcp.add;
  const set = (change: Partial<Form>) => setForm((old) => ({ ...old, ...change }));
  const name = form.name.trim();
  const target = kind === "http" ? form.url.trim() : form.command.trim();

  async function put(body: McpServerBody): Promise<void> {
    const result = await client.putMcpServer({ params: { name }, body });
    if (!result.ok) return toasts.show(problemText(result.error));
    toasts.show(t.added(name));
    setForm(blank);
    onAdded();
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (kind === "http") {
      const header = form.header.trim();
      void put({
        url: form.url.trim(),
        ...(header !== "" && { headers: { [header]: form.value.trim() } }),
      });
      return;
    }
    const env = readVariables(form.env);
    if (env === null) return toasts.show(t.badVariables);
    const args = readLines(form.args);
    setAsking({
      command: form.command.trim(),
      ...(args.length > 0 && { args: [...args] }),
      ...(Object.keys(env).length > 0 && { env }),
      sandbox: { network: form.network },
    });
  }

  return (
    <section className="settings-section">
      <h3>{t.title}</h3>
      <form className="settings-form" aria-label={t.title} onSubmit={submit}>
        <TextField label={t.name} value={form.name} onChange={(value) => set({ name: value })} />
        <Choice label={t.kind} value={kind} options={t.kinds} onChange={setKind} />
        {kind === "http" ? (
          <>
            <TextField label={t.url} value={form.url} onChange={(value) => set({ url: value })} />
            <TextField
              label={t.header}
              value={form.header}
              onChange={(value) => set({ header: value })}
            />
            <SecretField label={t.value} value={form.value} onChange={(value) => set({ value })} />
          </>
        ) : (
          <>
            <TextField
              label={t.command}
              value={form.command}
              onChange={(value) => set({ command: value })}
            />
            <LinesField label={t.args} value={form.args} onChange={(args) => set({ args })} />
            <LinesField label={t.env} value={form.env} onChange={(env) => set({ env })} />
            <Choice
              label={t.network}
              value={form.network}
              options={t.networks}
              onChange={(network) => set({ network })}
            />
          </>
        )}
        <p className="quiet">{kind === "http" ? t.webHint : t.programHint}</p>
        <button type="submit" className="button" disabled={name === "" || target === ""}>
          {t.submit}
        </button>
      </form>
      {asking !== null && (
        <Dialog
          title={t.confirmTitle(name)}
          confirm={t.confirm}
          tone="warn"
          onConfirm={() => void put({ ...asking, confirm: programText(asking) })}
          onClose={() => setAsking(null)}
        >
          <p>{t.confirmLead}</p>
          <pre className="lines" dir="ltr">
            {revealInvisible(programText(asking))}
          </pre>
        </Dialog>
      )}
    </section>
  );
}
