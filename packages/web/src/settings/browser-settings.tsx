import { useState } from "react";
import { playSound } from "../attention/use-attention.ts";
import { useApp, useStore } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { preferences } from "../ui/preferences.ts";
import { Choice } from "./form-fields.tsx";

/** Choices of this browser: size, send key, notifications, sound. */
export function BrowserSettings() {
  const chosen = useStore(preferences);
  const t = strings.attention;
  return (
    <>
      <section className="settings-section">
        <h3>{t.writing}</h3>
        <Choice
          label={t.fontSize}
          value={chosen.fontSize}
          options={t.fontSizes}
          onChange={(fontSize) => preferences.change({ fontSize })}
        />
        <Choice
          label={t.sendKey}
          value={chosen.sendKey}
          options={t.sendKeys}
          onChange={(sendKey) => preferences.change({ sendKey })}
        />
      </section>
      <section className="settings-section">
        <h3>{t.title}</h3>
        <p className="quiet">{t.hint}</p>
        <Notifications isOn={chosen.notifications === "on"} />
        <label className="choice">
          <input
            type="checkbox"
            checked={chosen.sound === "on"}
            onChange={(event) => {
              preferences.change({ sound: event.target.checked ? "on" : "off" });
              // Browsers play sounds only after a click on the page.
              if (event.target.checked) playSound();
            }}
          />
          <span>{t.sound}</span>
        </label>
      </section>
    </>
  );
}

function Notifications({ isOn }: { isOn: boolean }) {
  const { toasts } = useApp();
  const t = strings.attention;
  const isSupported = "Notification" in globalThis;
  const [permission, setPermission] = useState(isSupported ? Notification.permission : "denied");

  async function change(wanted: boolean): Promise<void> {
    if (!wanted) return preferences.change({ notifications: "off" });
    const answer = await Notification.requestPermission();
    setPermission(answer);
    if (answer === "granted") preferences.change({ notifications: "on" });
    else toasts.show(t.blocked);
  }
  if (!isSupported) return <p className="quiet">{t.needsHttps}</p>;
  return (
    <label className="choice">
      <input
        type="checkbox"
        checked={isOn && permission === "granted"}
        onChange={(event) => void change(event.target.checked)}
      />
      <span>{t.notifications}</span>
    </label>
  );
}
