import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.util.Base64;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.NodeList;

/** Reads lines of base64 and prints, in base64, the texts and attributes that the JDK's Xerces reads in each body. */
public class JudgeXml {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            StringBuilder seen = new StringBuilder();
            try {
                DocumentBuilder builder = DocumentBuilderFactory.newInstance().newDocumentBuilder();
                builder.setErrorHandler(null);
                Document document = builder.parse(new ByteArrayInputStream(Base64.getDecoder().decode(line)));
                NodeList elements = document.getElementsByTagName("*");
                for (int number = 0; number < Math.min(elements.getLength(), 2000); number++) {
                    NamedNodeMap attributes = elements.item(number).getAttributes();
                    for (int each = 0; each < attributes.getLength(); each++)
                        seen.append(attributes.item(each).getNodeValue()).append('\n');
                    if (number == 0 || number == elements.getLength() - 1)
                        seen.append(elements.item(number).getTextContent()).append('\n');
                }
            } catch (Exception error) {
                // the site answers 400
            }
            System.out.println(Base64.getEncoder().encodeToString(seen.toString().getBytes("UTF-8")));
        }
    }
}
