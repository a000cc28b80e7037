import { useState } from "react";
import { chooseTheme, readTheme, themes } from "../ui/theme.ts";
import { strings } from "../strings/strings.ts";

export function AppearanceSettings() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <fieldset className="choices">
      <legend>{strings.settings.theme}</legend>
      {themes.map((each) => (
        <label key={each} className="choice">
          <input
            type="radio"
            name="theme"
            value={each}
            checked={each === theme}
            onChange={() => {
              chooseTheme(each);
              setTheme(each);
            }}
          />
          <span>{strings.settings.themes[each]}</span>
        </label>
      ))}
      <p className="quiet">{strings.settings.themeHint}</p>
    </fieldset>
  );
}
