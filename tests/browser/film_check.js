// Appended to a film's page by film_check.sh. Uses the page as a person does, through its controls alone, and
// compares what it shows with the data. Sends a report to the page that frames it.
addEventListener('load', () => setTimeout(() => {
  const root = document.documentElement;
  const report = {failures: [], frames: 0, cells: 0, hovered: 0};
  const expect = (truth, what) => { if (!truth && report.failures.length < 20) report.failures.push(what); };
  const key = (name, target = document.body) => target.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
  try {
    const film = JSON.parse(document.getElementById('film-data').textContent), frames = film.frames;
    const slider = document.getElementById('slider'), now = document.getElementById('now');
    const shownStep = () => Number(now.textContent.split(' ').pop());
    const pointer = (plot, share) => {
      const box = plot.getBoundingClientRect();
      plot.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 5}));
    };
    expect(document.getElementById('title').textContent === film.title, 'title');
    if (frames.length === 0) {
      expect(document.getElementById('empty').textContent === film.words.no_data, 'an empty film says so');
      expect(document.getElementById('film').hidden, 'an empty film shows no controls');
    } else {
      expect(Number(slider.max) + 1 === frames.length, `the slider has ${slider.max} + 1 places for ${frames.length} frames`);
      frames.forEach((frame, i) => {
        slider.value = i;
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        expect(shownStep() === frame.step, `frame ${i} shows ${now.textContent}`);
        report.frames += 1;
        for (const curve of document.querySelectorAll('.curve')) {
          const value = Number(frame[curve.dataset.measure]), shown = Number(curve.querySelector('.value').textContent);
          expect(Object.is(value, shown) || Math.abs(shown - value) <= 5e-4 * Math.abs(value), `${curve.dataset.measure} ${shown} for ${value}`);
        }
        for (const figure of document.querySelectorAll('figure')) {
          const panel = frame.sentences[figure.dataset.sentence].panels[figure.dataset.panel];
          const reading = figure.querySelector('.reading');
          for (const cell of figure.querySelectorAll('td')) {
            const q = Number(cell.dataset.query), k = Number(cell.dataset.key);
            const value = Number(panel.weights[q][k]), hidden = Boolean(panel.hidden?.[q]?.[k]);
            const where = `${panel.name}, step ${frame.step}, ${panel.queries[q]} → ${panel.keys[k]}`;
            // By turns with the pointer and with the keyboard's focus.
            if ((q + k) % 2) cell.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
            else cell.focus();
            const [pair, shown] = reading.textContent.split(': ');
            expect(pair === `${panel.queries[q]} → ${panel.keys[k]}`, `${where}: reading says ${pair}`);
            report.cells += 1;
            if (hidden) {
              expect(shown === film.words.hidden, `${where}: hidden, yet says ${shown}`);
              expect(getComputedStyle(cell).backgroundImage.includes('repeating-linear-gradient'), `${where}: not hatched`);
              expect(cell.textContent === '', `${where}: hidden, yet shows ${cell.textContent}`);
            } else {
              report.hovered += 1;
              expect(Object.is(value, Number(shown)) || Math.abs(Number(shown) - value) <= 0.0005 + 1e-12, `${where}: shows ${shown} for ${value}`);
              expect(getComputedStyle(cell).backgroundImage === 'none', `${where}: hatched, yet not hidden`);
            }
          }
        }
      });
      // Keys, from wherever the focus is but in a matrix.
      document.activeElement?.blur();
      const at = i => frames[i].step, last = frames.length - 1;
      key('Home'); expect(shownStep() === at(0), 'Home');
      key('ArrowLeft'); expect(shownStep() === at(0), 'left at the start stays');
      key('ArrowRight'); expect(shownStep() === at(Math.min(1, last)), 'right');
      key('End'); expect(shownStep() === at(last), 'End');
      const play = document.getElementById('play');
      key(' '); expect(play.getAttribute('aria-label') === film.words.pause, 'space plays');
      expect(shownStep() === at(0), 'playing starts over at the end');
      key(' '); expect(play.getAttribute('aria-label') === film.words.play, 'space pauses');
      // In a matrix the arrows move between its cells.
      const cells = document.querySelectorAll('figure td');
      if (cells.length > 1) {
        cells[0].focus();
        key('ArrowRight', cells[0]);
        expect(document.activeElement === cells[1], 'arrow keys move within a matrix');
        expect(shownStep() === at(0), 'and leave the step alone');
        key('Escape', cells[1]);
        expect(document.activeElement === slider, 'Escape leaves the matrix');
      }
      const loss = document.querySelector('.curve[data-measure=loss] svg');
      pointer(loss, 1); expect(shownStep() === at(last), 'a click on the curve seeks');
      pointer(loss, 0); expect(shownStep() === at(0), 'a click on the curve seeks back');
      expect(loss.querySelector('.cursor').getAttribute('x1') === (last === 0 ? '150' : '0'), 'the cursor stands at the step');
      for (const panel of frames[0].sentences?.[0]?.panels.slice(0, 1) ?? [])
        if (panel.gradients) {
          const show = document.getElementById('show');
          show.value = 'gradients';
          show.dispatchEvent(new Event('change', {bubbles: true}));
          cells[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
          const shown = Number(document.querySelector('.reading').textContent.split(': ')[1]), value = panel.gradients[0][0];
          expect(Math.abs(shown - value) <= 5e-4 * Math.abs(value), `gradient ${shown} for ${value}`);
        }
    }
    const was = root.dataset.theme;
    report.theme = was;
    report.ground = getComputedStyle(document.body).backgroundColor;
    document.getElementById('theme').click();
    expect(root.dataset.theme === (was === 'dark' ? 'light' : 'dark'), 'the button changes the theme');
    report.width = root.scrollWidth;
    report.window = innerWidth;
    report.loaded = performance.getEntriesByType('resource').filter(entry => !entry.name.startsWith('data:')).length;
  } catch (error) {
    report.failures.push(String(error.stack || error));
  }
  const text = report.failures.length === 0
    ? `ok frames=${report.frames} cells=${report.cells} hovered=${report.hovered} theme=${report.theme} ground=${report.ground.replace(/ /g, '')} width=${report.width} window=${report.window} loaded=${report.loaded}`
    : 'failed: ' + report.failures.join(' | ');
  parent.postMessage(text, '*');
}, 200));
