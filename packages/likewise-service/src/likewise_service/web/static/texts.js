// What the scripts of all pages need: texts in the language of the page, numbers and times.
const likewiseTexts = (() => {
  "use strict";
  const language = document.documentElement.lang, locale = language === "en" ? "en-GB" : language;
  // English texts are in the scripts; those of other languages come with the page.
  const words = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
  const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_match, name) => values[name]);
  const _ = (text, values = {}) => fill(words[text] ?? text, values);
  const counted = new Intl.PluralRules(language);
  const ngettext = (one, several, num, values = {}) => {
    const form = counted.select(num) === "one" ? 0 : 1;
    return fill((words[one] ?? [one, several])[form], { num: num.toLocaleString(locale), ...values });
  };

  // Times are written in UTC by the server, and turned into the reader's own.
  const clock = new Intl.DateTimeFormat(locale, {
    day: "numeric", month: "long", year: "numeric",
    hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  const moment = (time) => clock.format(time).replace(" at ", ", ");
  function localise() {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const then = new Date(time.dateTime);
      if (!Number.isNaN(then.valueOf())) time.textContent = moment(then);
    }
  }

  return { _, ngettext, locale, moment, localise };
})();
