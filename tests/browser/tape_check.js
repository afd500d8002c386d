// Appended to a tape's page by tape_check.sh. Uses the page as a person does, through its controls alone, and compares what
// it shows with the data. Sends a report to the page that frames it.
addEventListener('load', () => setTimeout(() => {
  const root = document.documentElement;
  const report = {failures: [], steps: 0, cells: 0};
  const expect = (truth, what) => { if (!truth && report.failures.length < 20) report.failures.push(what); };
  const key = (name, target = document.body) => target.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
  try {
    const tape = JSON.parse(document.getElementById('tape-data').textContent), steps = tape.steps, last = steps.length;
    const slider = document.getElementById('slider'), sentence = document.getElementById('sentence'), reading = document.getElementById('reading');
    const place = () => Number(slider.value);
    const names = figures => [...figures].map(figure => figure.dataset.name).join(' ');
    expect(document.getElementById('title').textContent === tape.title, 'title');
    if (last === 0) {
      expect(document.getElementById('empty').textContent === tape.words.empty, 'an empty tape says so');
      expect(document.getElementById('walk').hidden, 'an empty tape shows no controls');
    } else {
      const check_step = i => {
        report.steps += 1;
        const step = steps[i - 1];
        expect(place() === i, `place ${place()} for ${i}`);
        expect(sentence.textContent === (step ? step.sentence : tape.words.beginning), `step ${i} says ${sentence.textContent}`);
        const current = document.querySelectorAll('[aria-current=step]');
        expect(i === 0 ? current.length === 0 : current.length === 1 && current[0].textContent === i + step.sentence, `step ${i} is marked in the list`);
        expect(names(document.querySelectorAll('#flow figure')) === (step ? [...step.inputs, ...step.outputs].map(v => v[0]).join(' ') : ''), `step ${i} shows what it read and gave`);
        const known = new Map(tape.changes.slice(0, i + 1).flat());
        const entry = (name, array) => name + ' ' + array;
        expect([...document.querySelectorAll('#known figure')].map(f => entry(f.dataset.name, f.dataset.array)).sort().join() === [...known].map(v => entry(...v)).sort().join(), `step ${i} shows what is known`);
        const framed = names(document.querySelectorAll('#known .changed figure'));
        for (const [name] of step ? step.outputs : []) if (known.has(name)) expect(framed.includes(name), `step ${i} frames ${name}`);
        for (const figure of document.querySelectorAll('figure')) {
          const array = tape.arrays[figure.dataset.array];
          for (const cell of figure.querySelectorAll('td')) {
            const value = array.rows[cell.dataset.row][cell.dataset.column], number = Number(value), shown = Number(cell.textContent);
            // By turns with the pointer and with the keyboard's focus.
            if (report.cells++ % 2) cell.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
            else cell.focus();
            expect(reading.textContent.startsWith(figure.dataset.name) && reading.textContent.endsWith(` = ${value}`), `reading says ${reading.textContent} for ${value}`);
            if (!Number.isFinite(number)) expect(cell.className.includes('strange') && cell.textContent.toLowerCase().startsWith(number < 0 ? '-inf' : number > 0 ? 'inf' : 'nan'), `${value} shows ${cell.textContent}`);
            else expect(Math.abs(shown - number) <= Math.max(0.0005, 0.051 * Math.abs(number)) + 1e-12 && (Math.abs(number) >= 100 || Math.abs(number) < 0.0005 || Math.abs(shown - number) <= 0.0005 + 1e-12), `${value} shows ${cell.textContent}`);
          }
        }
      };
      check_step(0);
      for (let i = 0; i <= last; ++i) {
        slider.value = i;
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        check_step(i);
      }
      document.activeElement?.blur();
      key('Home'); expect(place() === 0, 'Home');
      key('ArrowLeft'); expect(place() === 0, 'left at the start stays');
      key('ArrowRight'); expect(place() === 1, 'right');
      key('End'); expect(place() === last, 'End');
      key('ArrowRight'); expect(place() === last, 'right at the end stays');
      key('ArrowLeft'); expect(place() === last - 1, 'left');
      document.getElementById('on').click(); expect(place() === last, 'the button goes on');
      expect(document.getElementById('on').disabled, 'and no further');
      document.getElementById('back').click(); expect(place() === last - 1, 'the button goes back');
      document.querySelector('.steps button').click(); expect(place() === 1, 'a click in the list seeks');
      const cells = [...document.querySelectorAll('#flow figure')].map(f => f.querySelectorAll('td')).find(c => c.length > 1);
      if (cells) {
        cells[0].focus();
        key('ArrowRight', cells[0]); key('ArrowDown', cells[0]);
        expect(document.activeElement !== cells[0], 'arrow keys move within a matrix');
        expect(place() === 1, 'and leave the step alone');
        key('Escape', document.activeElement);
        expect(document.activeElement === slider, 'Escape leaves the matrix');
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
    ? `ok steps=${report.steps} cells=${report.cells} theme=${report.theme} ground=${report.ground.replace(/ /g, '')} width=${report.width} window=${report.window} loaded=${report.loaded}`
    : 'failed: ' + report.failures.join(' | ');
  parent.postMessage(text, '*');
}, 200));
